// Package telemetry sets up traces, metrics and logs of a process.
//
// A trace id is always made, so that an answer, a log line and a row can be
// matched; spans go somewhere only when an exporter is configured. Metrics are
// scraped by Prometheus.
package telemetry
