// Package tscall tests the generated TypeScript with a program that asks
// something through the gateway. It needs Node.js and the npm tools of the web
// app, so it is run by make test-node and has the build tag node.
package tscall
