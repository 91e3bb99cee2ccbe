package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// failure is what a provider said about an error, whatever shape it used.
type failure struct {
	message string
	codes   []string // code, type and status members, lower case
	param   string
	// wait is how long the provider's own words ask to wait; 0: they do not.
	wait time.Duration
	// page says that it was a web page, which no provider's API answers with.
	page bool
}

// code returns the provider's most telling code.
func (f failure) code() string {
	if len(f.codes) == 0 {
		return ""
	}
	return f.codes[0]
}

// has reports whether one of the codes contains one of the words.
func (f failure) has(words ...string) bool {
	for _, code := range f.codes {
		for _, w := range words {
			if strings.Contains(code, w) {
				return true
			}
		}
	}
	return false
}

// says reports whether the message contains one of the words.
func (f failure) says(words ...string) bool {
	low := strings.ToLower(f.message)
	for _, w := range words {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// readFailure reads an error body: OpenAI's {"error":{...}}, {"error":"text"},
// FastAPI's {"detail":...}, Google's [{...}], flat {"code","message"}, MiniMax's
// base_resp, each also as the first event of a stream, HTML and plain text.
func readFailure(body []byte) failure {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF")))
	if bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:")) {
		// Some answer with an event stream whatever the status.
		ev, _ := newEventReader(bytes.NewReader(body), len(body), len(body)+1).next()
		body = bytes.TrimSpace(ev.data)
	}
	var f failure
	switch {
	case len(body) == 0:
	case body[0] == '{' || body[0] == '[' || body[0] == '"':
		if json.Valid(body) {
			f.read(body, 0)
			break
		}
		fallthrough
	case body[0] == '<':
		f.message, f.page = htmlTitle(body), body[0] == '<'
	default:
		f.message = string(body)
	}
	if f.wait == 0 {
		f.wait = waitInWords(f.message)
	}
	return f
}

var tryAgain = regexp.MustCompile(`(?i)(?:try again|retry) in ((?:[0-9]+(?:\.[0-9]+)?(?:h|ms|m|s))+)`)

// waitInWords reads OpenAI's "Please try again in 1m2.5s" and Google's "Please
// retry in 7s".
func waitInWords(message string) time.Duration {
	m := tryAgain.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	return asWait(m[1])
}

func asWait(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return min(max(d, 0), maxRetryWait)
}

// read takes one JSON value. Envelopes are opened to a depth of 4.
func (f *failure) read(raw json.RawMessage, depth int) {
	if depth > 4 || len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '"':
		f.say(asText(raw))
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			for _, item := range list[:min(len(list), 3)] {
				f.read(item, depth+1)
			}
		}
	case '{':
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return
		}
		if word := minimaxCodes[asText(members["status_code"])]; word != "" && members["status_msg"] != nil {
			f.codes = append(f.codes, word)
		}
		for _, name := range []string{"error", "errors", "detail", "base_resp"} {
			f.read(members[name], depth+1)
		}
		for _, name := range []string{"message", "msg", "status_msg", "error_msg", "error_description"} {
			f.read(members[name], depth+1)
		}
		for _, name := range []string{"code", "type", "status", "status_code", "error_code"} {
			if code := strings.ToLower(asText(members[name])); code != "" && code != "error" {
				f.codes = append(f.codes, code)
			}
		}
		var details []struct {
			RetryDelay text `json:"retryDelay"` // google.rpc.RetryInfo
		}
		if tolerant(members["details"], &details) {
			for _, d := range details {
				f.wait = cmp.Or(f.wait, asWait(string(d.RetryDelay)))
			}
		}
		if f.param == "" {
			f.param = asText(members["param"])
		}
	}
}

// minimaxCodes are MiniMax's numbers, which come with HTTP 200, in the words of the
// others: GLM has the same numbers for other things.
var minimaxCodes = map[string]string{
	"1002": "rate_limit", "1004": "authentication", "1008": "insufficient_balance",
	"1026": "content_filter", "1027": "content_filter", "1039": "rate_limit", "1041": "rate_limit",
	"2013": "invalid_request", "2049": "invalid_api_key", "2056": "insufficient_quota",
}

func (f *failure) say(message string) {
	switch {
	case message == "" || message == f.message:
	case f.message == "":
		f.message = message
	default:
		f.message += "; " + message
	}
}

var titleTag = regexp.MustCompile(`(?is)<(?:title|h1)[^>]*>(.*?)</`)

// htmlTitle returns the title of an HTML page, or the start of the text.
func htmlTitle(page []byte) string {
	if m := titleTag.FindSubmatch(page); m != nil {
		return string(bytes.TrimSpace(m[1]))
	}
	return string(page[:min(len(page), 200)])
}

// Statuses that say more than their class. Those without a name in net/http are
// Groq's (498), Cloudflare's (522, 524), Anthropic's (529) and those of proxies
// (598, 599).
var (
	overloadedStatuses = []int{498, http.StatusServiceUnavailable, 529}
	timeoutStatuses    = []int{http.StatusRequestTimeout, http.StatusGatewayTimeout, 522, 524, 598, 599}
	// Below 500, and yet the same request may do better later: something is in
	// the way (409, 423, 425) or behind the endpoint has failed (424, as Text
	// Generation Inference says it).
	passingStatuses = []int{http.StatusConflict, http.StatusLocked, http.StatusFailedDependency, http.StatusTooEarly}
)

// kindOf classifies an error answer. status is the HTTP status, or 200 for an
// error inside a stream; then a code that is an HTTP status counts as one.
func kindOf(status int, f failure) Kind {
	if status < 400 {
		for _, c := range f.codes {
			if n, err := strconv.Atoi(c); err == nil && n >= 400 && n < 600 {
				status = n
				break
			}
		}
	}
	switch {
	case f.has("context_length", "context_window", "context_size", "string_above_max_length", "1261"), f.saysTooLong(),
		status == http.StatusRequestEntityTooLarge:
		return KindContextLength
	case f.has("content_filter", "content_policy", "data_inspection_failed", "responsibleaipolicy"), f.has("1301"):
		return KindContentFilter
	case status == http.StatusPaymentRequired,
		f.has("insufficient_quota", "insufficient_balance", "billing", "arrearage", "quota_exceeded", "exceeded_current_quota", "1113"),
		f.says("insufficient balance", "insufficient_quota", "credit balance is too low", "余额不足", "欠费"):
		return KindQuota
	case f.has("invalid_api_key", "authentication", "permission_denied", "unauthorized", "unauthenticated"),
		status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired, f.says("api key not valid"):
		return KindAuth
	case f.has("rate_limit", "ratelimit", "too_many_requests", "throttling"), f.has("1302", "1303", "1305"),
		status == http.StatusTooManyRequests:
		return KindRateLimited
	case f.has("model_not_found", "not_found"), f.noModel(status), status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		return KindNotFound
	case f.has("overloaded"), slices.Contains(overloadedStatuses, status):
		return KindOverloaded
	case slices.Contains(timeoutStatuses, status):
		return KindTimeout
	case status >= 500, slices.Contains(passingStatuses, status):
		return KindServer
	case status >= 400, f.has("invalid_request", "invalid_argument", "invalidparameter"):
		return KindBadRequest
	}
	return KindServer
}

// saysTooLong reports whether a message, whatever its code, is of a prompt that is
// longer than the model takes: OpenAI and most others, llama.cpp, Anthropic,
// Bedrock, Kimi, GLM, Qwen, xAI, Gemini.
func (f failure) saysTooLong() bool {
	return f.says("maximum context length", "context window", "context length", "context size",
		"prompt is too long", "input is too long", "too many tokens", "exceeded model token limit",
		"exceeds max length", "range of input length should be", "maximum prompt length") ||
		f.says("input token count") && f.says("exceeds the maximum")
}

// noModel reports whether a refusal of the whole request is one of the model's
// name, which some providers answer with 400: DeepSeek, GLM (1211), Mistral
// (invalid_model) and OpenRouter.
func (f failure) noModel(status int) bool {
	return status == http.StatusBadRequest &&
		(f.has("invalid_model", "1211") || f.says("model not exist", "model does not exist", "not a valid model", "invalid model:", "模型不存在"))
}

// retryAfter reads how long the provider asks to wait: seconds or an HTTP date
// (RFC 9110 section 10.2.3), or OpenAI's milliseconds.
func retryAfter(h http.Header, now time.Time) time.Duration {
	var wait time.Duration
	value := strings.TrimSpace(h.Get("Retry-After"))
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		wait = asDuration(ms, time.Millisecond)
	} else if s, err := strconv.ParseFloat(value, 64); err == nil {
		wait = asDuration(s, time.Second)
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryWait)
}

func asDuration(n float64, unit time.Duration) time.Duration {
	if !(n > 0) { // also NaN
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryWait)))
}

// requestID returns the id under which the provider knows the call. It is kept
// and shown, so it is cleaned like every other word of a provider.
func (x explainer) requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Ms-Request-Id", "Apim-Request-Id", "Cf-Ray"} {
		if id := h.Get(name); id != "" {
			return x.redact.clean(id, maxRequestID)
		}
	}
	return ""
}

// statusText names a status for people.
func statusText(status int) string {
	if t := http.StatusText(status); t != "" {
		return fmt.Sprintf("HTTP %d %s", status, t)
	}
	return fmt.Sprintf("HTTP %d", status)
}
