package main

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// figure is one line of output.
type figure struct {
	Bench   string  `json:"bench"`
	Metric  string  `json:"metric"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	RatioTo string  `json:"ratio_to,omitempty"`
}

func report(costs []cost, pages []page) error {
	size := 0
	for _, p := range pages {
		size += len(p.html)
	}
	n := float64(len(pages))
	for i, c := range costs {
		if c.letters == 0 {
			return fmt.Errorf("%s found no text at all", extractors[i].name)
		}
		s := c.cpu.Seconds()
		bench := "extract." + extractors[i].name
		figures := []figure{
			{bench, "pages", n / s, "pages/CPU-s", ""},
			{bench, "throughput", float64(size) / 1e6 / s, "MB/CPU-s", ""},
			{bench, "memory", float64(c.bytes) / n, "B/page", ""},
			{bench, "allocations", float64(c.allocs) / n, "allocs/page", ""},
			{bench, "slowest_page", float64(c.slowest) / float64(time.Millisecond), "ms", ""},
		}
		if i > 0 {
			figures = append(figures, figure{"extract." + extractors[0].name, "pages", c.cpu.Seconds() / costs[0].cpu.Seconds(), "x", extractors[i].name})
		}
		for _, f := range figures {
			if err := f.print(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f figure) print() error {
	if f.Value > 0 { // four digits; more would claim too much
		scale := math.Pow(10, 3-math.Floor(math.Log10(f.Value)))
		f.Value = math.Round(f.Value*scale) / scale
	}
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(line))
	return err
}
