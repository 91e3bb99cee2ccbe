// Package redisconn is the process's one connection to Redis, for what may be
// lost: cached answers and rate buckets. Nothing waits for a Redis that is away.
//
// A call that Redis does not answer within [CallTimeout] fails with
// [ErrUnavailable], and for [retryEvery] the calls after it fail at once; then
// one of them tries again. The log says once that Redis is away and once that
// it is back; the metrics nanoclaw.redis.available and
// nanoclaw.redis.calls_without say it too.
//
// One server is talked to: a single Redis, or the address of a service that
// stands for one (a proxy, a managed primary). A Redis Cluster is not followed.
package redisconn
