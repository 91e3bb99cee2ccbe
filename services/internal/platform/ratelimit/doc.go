// Package ratelimit keeps how often something may be done: so many times in any
// stretch of a given length, in this process or over all replicas.
//
// The rule is exact. A user with 10 searches a minute never makes an eleventh
// within 60 s, whenever the minute is looked at, and is told to the microsecond
// when the next one is free; a bucket that fills again meanwhile would let
// nearly 20 through. Therefore the times of the last N turns are kept, and N is
// small ([MaxN]).
//
// A turn can also be taken ahead of its time, by somebody who waits for it. A
// limit of one turn in 2 s with waiting is then a queue whose members keep 2 s
// of distance, over all replicas.
package ratelimit
