package main

import (
	"slices"
	"testing"
	"time"
)

func TestStampsAreFoundOnceAndWhole(t *testing.T) {
	const a, b, c = "1700000000000000001 ", "1700000000000000002 ", "1700000000000000005 "
	now := time.Unix(0, 1700000000000000009)
	var came []arrival
	for _, step := range []struct {
		name, text string
		want       int
	}{
		{"in a line of SSE", `data: {"content":"` + a + `","round":1}` + "\n", 1},
		{"a piece with what was read before", a + b, 1},
		{"half a time", c[:10], 0},
		{"no time", `{"run_id":"01KAV","offset":20}`, 0},
		{"one more", c, 1},
	} {
		if got := stamps([]byte(step.text), now, &came); got != step.want {
			t.Errorf("%s: %d chunks, want %d", step.name, got, step.want)
		}
	}
	want := []arrival{{1700000000000000001, 8}, {1700000000000000002, 7}, {1700000000000000005, 4}}
	if !slices.Equal(came, want) {
		t.Errorf("came %v, want %v", came, want)
	}
}

func TestPercentilesLeaveTheWarmUpOut(t *testing.T) {
	all := []arrival{{sent: 0, took: time.Hour}}
	for i := range 100 {
		all = append(all, arrival{sent: time.Duration(100 + i), took: time.Duration(1 + i)})
	}
	got, err := summarize(all)
	if want := (readings{Chunks: 101, P50: 50, P99: 99}); err != nil || got != want {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
	if _, err := summarize(nil); err == nil {
		t.Error("nothing came, and that is no error")
	}
}

func TestFiguresHaveFourDigits(t *testing.T) {
	for in, want := range map[float64]float64{0: 0, 12345.6: 12350, 0.00123456: 0.001235, -1.23456: -1.235} {
		if got := significant(in); got != want {
			t.Errorf("%g becomes %g, want %g", in, got, want)
		}
	}
}
