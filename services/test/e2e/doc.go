// Package e2e tests the web app in a browser: the real binary with the app in
// it, a scripted model, sites and tools on loopback, and between the browser and
// the server a proxy whose connections can be cut. The scenarios are in
// services/gateway/web/e2e.
//
// It needs Node.js, the npm tools of the web app and Chromium, so it is run by
// make e2e and has the build tag e2e.
package e2e
