-- Takes a turn at KEYS[1], a list of the times of turns in microseconds,
-- oldest first; turns that are waited for lie in the future.
-- ARGV: turns allowed; in microseconds, in how long a stretch, the longest wait
-- of this caller and of any caller. Answers {1 if taken, wait, time of the turn}.
local n, per, longest, furthest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- A clock that was set back must not lock anybody out for as long: no turn lies
-- that far ahead.
local last = tonumber(redis.call('LINDEX', KEYS[1], -1))
if last and last > now + furthest then
  redis.call('DEL', KEYS[1])
end

local first = tonumber(redis.call('LINDEX', KEYS[1], 0))
while first and first <= now - per do
  redis.call('LPOP', KEYS[1])
  first = tonumber(redis.call('LINDEX', KEYS[1], 0))
end

local at = now
if redis.call('LLEN', KEYS[1]) >= n then
  at = math.max(now, redis.call('LINDEX', KEYS[1], -n) + per)
end
local wait = at - now
if wait > longest then
  return {0, wait, at}
end
redis.call('RPUSH', KEYS[1], string.format('%.0f', at))
redis.call('PEXPIRE', KEYS[1], math.ceil((wait + per) / 1000))
return {1, wait, at}
