// Package edge tests the borders of the whole suite, every service real: who may
// call what and sees what, which requests pass the edge, what a turn's trace
// shows, what a drain promises, and where secrets must not appear.
//
// The tests walk the contracts that are linked in and the OpenAPI document that
// is served, so that a new method or route is under test without a new line
// here; where a request cannot be filled the test fails and says what to add.
package edge
