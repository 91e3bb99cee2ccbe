package main

import "testing"

func TestAServerThatListensEverywhereIsReachedOverLoopback(t *testing.T) {
	for addr, want := range map[string]string{
		":3001":          "127.0.0.1:3001",
		"0.0.0.0:3001":   "127.0.0.1:3001",
		"[::]:3001":      "127.0.0.1:3001",
		"127.0.0.1:3001": "127.0.0.1:3001",
		"[::1]:3001":     "[::1]:3001",
		"10.0.0.5:3001":  "10.0.0.5:3001",
		"here:3001":      "here:3001",
	} {
		if got := nearby(addr); got != want {
			t.Errorf("a server at %s is reached at %s, want %s", addr, got, want)
		}
	}
}
