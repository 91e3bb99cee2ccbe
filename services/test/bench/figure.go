package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// figure is one line of output.
type figure struct {
	Bench  string  `json:"bench"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	// RatioTo names what the value is compared with.
	RatioTo string `json:"ratio_to,omitempty"`
}

func (f figure) print() error {
	f.Value = significant(f.Value)
	line, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", f.Bench, f.Metric, err)
	}
	_, err = fmt.Fprintf(os.Stdout, "%s\n", line)
	return err
}

func printAll(figures ...figure) error {
	for _, f := range figures {
		if err := f.print(); err != nil {
			return err
		}
	}
	return nil
}

// significant rounds to four digits; more would claim too much.
func significant(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// percentile is the smallest value that p of all are not above; sorted is not
// empty.
func percentile[T any](sorted []T, p float64) T {
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return percentile(all, 0.5)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)
