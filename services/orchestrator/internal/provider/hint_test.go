package provider

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

// fromVariable is a key as most people set it.
var fromVariable = keyFacts{
	set: true, header: "Authorization, as a bearer token",
	origin: config.SecretOrigin{Place: "config.yml:4", Variables: []string{"GLM_API_KEY"}},
}

const (
	sentFromVariable = "It came from environment variable GLM_API_KEY, named in config.yml:4 and was sent in the header Authorization, as a bearer token"
	refusedKey       = "The API key was refused: check that it belongs to this provider and region, is whole, and has neither expired nor been revoked. "
	notAllowed       = "The API key was not allowed to do this: enable the service and this model for it at the provider, and look at what it is limited to (models, project, region, addresses). "
	unknownModel     = `The address is right, but the provider knows no model "glm-5" that this key may use: correct model, or id where model is not set (names are the provider's own; a local server may have to pull it first)`
	wrongPath        = "Nothing answers chat completions at this path: correct api_url, which is the base address of the provider's documentation, mostly one that ends in /v1"
	topUp            = "The account has no credit or quota left: top it up or raise its limit, or choose another model; "
	theirs           = "The fault is the provider's: try again later"
)

// TestWhatProvidersRefuseIsExplained has bodies of the shapes that providers
// send, and the words that a user reads in a run, in doctor and in models check.
func TestWhatProvidersRefuseIsExplained(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		wait   string // Retry-After
		body   string
		kind   Kind
		what   string
		hint   string
	}{
		{"OpenAI's wrong key", 401, "", `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}`,
			KindAuth, "HTTP 401 Unauthorized: Incorrect API key provided", refusedKey + sentFromVariable},
		{"DeepSeek's wrong key", 401, "", `{"error":{"message":"Authentication Fails (no such user)","type":"authentication_error","param":null,"code":"invalid_request_error"}}`,
			KindAuth, "HTTP 401 Unauthorized: Authentication Fails (no such user)", refusedKey + sentFromVariable},
		{"GLM's wrong key", 401, "", `{"error":{"code":"1000","message":"身份验证失败。"}}`, KindAuth, "HTTP 401 Unauthorized: 身份验证失败", refusedKey + sentFromVariable},
		{"Google's wrong key", 400, "", `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`,
			KindAuth, "HTTP 400 Bad Request: API key not valid. Please pass a valid API key", refusedKey + sentFromVariable},
		{"DashScope's key in the body", 403, "", `{"error":{"code":"invalid_api_key","message":"Incorrect API key provided."}}`,
			KindAuth, "HTTP 403 Forbidden: Incorrect API key provided", refusedKey + sentFromVariable},
		{"a gateway's empty 401", 401, "", ``, KindAuth, "HTTP 401 Unauthorized", refusedKey + sentFromVariable},
		{"Google's service that is not enabled", 403, "", `[{"error":{"code":403,"message":"Generative Language API has not been used in project 1 before or it is disabled.","status":"PERMISSION_DENIED"}}]`,
			KindAuth, "HTTP 403 Forbidden: Generative Language API has not been used in project 1 before or it is disabled", notAllowed + sentFromVariable},
		{"DashScope's model that was not bought", 403, "", `{"error":{"code":"AccessDenied.Unpurchased","message":"Access to model denied."}}`,
			KindAuth, "HTTP 403 Forbidden: Access to model denied", notAllowed + sentFromVariable},
		{"OpenAI's country", 403, "", `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}`,
			KindAuth, "HTTP 403 Forbidden: Country, region, or territory not supported", notAllowed + sentFromVariable},
		{"a firewall's page", 403, "", `<html><head><title>Attention Required! | Cloudflare</title></head></html>`,
			KindAuth, "HTTP 403 Forbidden: Attention Required! | Cloudflare", "A web page answers in place of the API, so the key was perhaps never looked at: check api_url, and what proxy or firewall stands before it (HTTPS_PROXY, NO_PROXY)"},
		{"a proxy that wants to know who asks", 407, "", ``, KindAuth, "HTTP 407 Proxy Authentication Required", "A proxy on the way asks for credentials: check HTTPS_PROXY and NO_PROXY of this process"},

		{"OpenAI's unknown model", 404, "", "{\"error\":{\"message\":\"The model `glm-5` does not exist or you do not have access to it.\",\"code\":\"model_not_found\"}}",
			KindNotFound, "HTTP 404 Not Found: The model `glm-5` does not exist or you do not have access to it", unknownModel},
		{"Ollama's unknown model", 404, "", `{"error":{"message":"model \"glm-5\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`,
			KindNotFound, `HTTP 404 Not Found: model "glm-5" not found, try pulling it first`, unknownModel},
		{"DeepSeek's unknown model", 400, "", `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, KindNotFound, "HTTP 400 Bad Request: Model Not Exist", unknownModel},
		{"GLM's unknown model", 400, "", `{"error":{"code":"1211","message":"模型不存在，请检查模型代码。"}}`, KindNotFound, "HTTP 400 Bad Request: 模型不存在，请检查模型代码", unknownModel},
		{"Mistral's unknown model", 400, "", `{"object":"error","message":"Invalid model: glm-5","type":"invalid_model","code":"1500"}`, KindNotFound, "HTTP 400 Bad Request: Invalid model: glm-5", unknownModel},
		{"OpenRouter's unknown model", 400, "", `{"error":{"message":"glm-5 is not a valid model ID","code":400}}`, KindNotFound, "HTTP 400 Bad Request: glm-5 is not a valid model ID", unknownModel},
		{"Azure's unknown deployment", 404, "", `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`,
			KindNotFound, "HTTP 404 Not Found: The API deployment for this resource does not exist", unknownModel},
		{"FastAPI's unknown path", 404, "", `{"detail":"Not Found"}`, KindNotFound, "HTTP 404 Not Found: Not Found", wrongPath},
		{"OpenAI's unknown path", 404, "", `{"error":{"message":"Invalid URL (POST /v1/v1/chat/completions)","type":"invalid_request_error"}}`,
			KindNotFound, "HTTP 404 Not Found: Invalid URL (POST /v1/v1/chat/completions)", wrongPath},
		{"nginx's unknown path", 404, "", `<html><head><title>404 Not Found</title></head></html>`, KindNotFound, "HTTP 404 Not Found: 404 Not Found", wrongPath},
		{"Go's unknown path", 404, "", `404 page not found`, KindNotFound, "HTTP 404 Not Found: 404 page not found", wrongPath},
		{"an empty 404", 404, "", ``, KindNotFound, "HTTP 404 Not Found", wrongPath},
		{"a page that takes no POST", 405, "", `<html><title>405 Not Allowed</title></html>`, KindNotFound, "HTTP 405 Method Not Allowed: 405 Not Allowed", wrongPath},
		{"a 404 that says nothing of either", 404, "", `{"error":{"message":"no such resource","code":"resource_missing"}}`,
			KindNotFound, "HTTP 404 Not Found: no such resource", `Check the model's name and api_url: the provider knows no model "glm-5", or nothing answers at this address`},

		{"DeepSeek's empty account", 402, "", `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`,
			KindQuota, "HTTP 402 Payment Required: Insufficient Balance", topUp + "repeating does not help"},
		{"OpenAI's quota", 429, "", `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`,
			KindQuota, "HTTP 429 Too Many Requests: You exceeded your current quota, please check your plan and billing details", topUp + "repeating does not help"},
		{"GLM's arrears", 429, "", `{"error":{"code":"1113","message":"您的账户已欠费，请充值后重试"}}`, KindQuota, "HTTP 429 Too Many Requests: 您的账户已欠费，请充值后重试", topUp + "repeating does not help"},
		{"Moonshot's quota", 429, "", `{"error":{"message":"Your account is suspended","type":"exceeded_current_quota_error"}}`, KindQuota, "HTTP 429 Too Many Requests: Your account is suspended", topUp + "repeating does not help"},
		{"a quota that fills up again", 402, "7200", `{"error":"weekly limit"}`, KindQuota, "HTTP 402 Payment Required: weekly limit", topUp + "the provider says that there is more in 2h0m0s"},
		{"too fast, with a wait", 429, "7", `{"error":{"message":"slow down"}}`, KindRateLimited, "HTTP 429 Too Many Requests: slow down", "Too many requests: wait 7s"},
		{"too fast, with a short wait", 429, "0.2", ``, KindRateLimited, "HTTP 429 Too Many Requests", "Too many requests: wait 1s"},
		{"too fast", 429, "", `{"error":{"code":"1302","message":"并发数过高"}}`, KindRateLimited, "HTTP 429 Too Many Requests: 并发数过高", "Too many requests: wait before the next call"},

		{"a broken server", 500, "", `{"error":{"message":"internal error"}}`, KindServer, "HTTP 500 Internal Server Error: internal error", theirs},
		{"a broken gateway", 502, "", `<html><body><h1>502 Bad Gateway</h1></body></html>`, KindServer, "HTTP 502 Bad Gateway: 502 Bad Gateway", theirs},
		{"no capacity", 503, "30", ``, KindOverloaded, "HTTP 503 Service Unavailable", "The fault is the provider's: try again in 30s"},
		{"a slow gateway", 504, "", ``, KindTimeout, "HTTP 504 Gateway Timeout", theirs},

		{"Ollama's model without tools", 400, "", `{"error":{"message":"registry.ollama.ai/library/gemma:7b does not support tools","type":"api_error"}}`,
			KindBadRequest, "HTTP 400 Bad Request: registry.ollama.ai/library/gemma:7b does not support tools", "The endpoint takes no tools for this model: set tool_mode: prompted, which describes them in the text, or choose another model"},
		{"vLLM without a parser of tools", 400, "", `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`,
			KindBadRequest, `HTTP 400 Bad Request: "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`, "The endpoint takes no tools for this model: set tool_mode: prompted, which describes them in the text, or choose another model"},
		{"Mistral's ids", 400, "", `{"object":"error","message":"Tool call id was call_abc_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","code":"3280"}`,
			KindBadRequest, "HTTP 400 Bad Request: Tool call id was call_abc_1 but must be a-z, A-Z, 0-9, with a length of 9", "The endpoint takes only its own form of ids for tool calls: set profile: mistral for this model"},
		{"a member that is refused", 422, "", `{"detail":[{"loc":["body","x"],"msg":"field required"}]}`, KindBadRequest, "HTTP 422 Unprocessable Entity: field required", "The provider refuses the request as it is"},
		{"an error in a stream", 200, "", `{"error":{"message":"Insufficient balance","code":"1113"}}`, KindQuota, "an error in the answer: Insufficient balance", topUp + "repeating does not help"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := explainer{model: "glm-5", url: "https://api.example.com/v1/chat/completions", key: fromVariable, redact: newRedactor()}
			h := http.Header{}
			if tc.wait != "" {
				h.Set("Retry-After", tc.wait)
			}
			e := x.answered(tc.status, h, readFailure([]byte(tc.body)))
			if e.Kind != tc.kind || e.Hint != tc.hint {
				t.Errorf("kind %s, hint %q\nwant %s, %q", e.Kind, e.Hint, tc.kind, tc.hint)
			}
			what := `model "glm-5" at https://api.example.com/v1/chat/completions: ` + tc.what
			if diff := cmp.Diff([]string{what, what + ". " + tc.hint}, []string{e.Fault(), e.Error()}); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestHowTheKeyGotThereIsSaidWithoutTheKey(t *testing.T) {
	const bearer = "Authorization, as a bearer token"
	for _, tc := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"of a variable", Config{APIKey: secretKey, KeyOrigin: config.SecretOrigin{Place: "config.yml:4", Variables: []string{"GLM_API_KEY"}}},
			refusedKey + sentFromVariable},
		{"in the file itself", Config{APIKey: secretKey, KeyOrigin: config.SecretOrigin{Place: "config.yml:4"}},
			refusedKey + "It came from config.yml:4 and was sent in the header " + bearer},
		{"of nobody knows where", Config{APIKey: secretKey}, refusedKey + "It was sent in the header " + bearer},
		{"trimmed when it was loaded", Config{APIKey: secretKey, KeyOrigin: config.SecretOrigin{Place: "NANOCLAW_MODELS", Trimmed: true}},
			refusedKey + "It came from NANOCLAW_MODELS and was sent in the header " + bearer + "; white space or quotes that stood around it were removed"},
		{"trimmed by the client", Config{APIKey: secretKey + "\n"},
			refusedKey + "It was sent in the header " + bearer + "; white space or quotes that stood around it were removed"},
		{"in a header of the operator", Config{Headers: map[string]string{"x-api-key": secretKey}},
			refusedKey + "It was sent in the header X-Api-Key, as models[].headers has it"},
		{"in the header of the endpoint", Config{APIKey: secretKey, Profile: Profile{KeyHeader: "Api-Key"}},
			refusedKey + "It was sent in the header Api-Key"},
		{"a header that is no key", Config{Headers: map[string]string{"X-Title": "NanoClaw"}},
			"No API key is set for this model: set api_key, as in api_key: ${MY_KEY}, and see that the variable was exported before the start"},
		{"an empty variable", Config{KeyOrigin: config.SecretOrigin{Place: "config.yml:4", Variables: []string{"GLM_API_KEY"}, Empty: true}},
			"No API key was sent, because environment variable GLM_API_KEY, named in config.yml:4 is empty: export it before the start (a service manager or a container does not see the variables of your shell)"},
		{"no key at all", Config{},
			"No API key is set for this model: set api_key, as in api_key: ${MY_KEY}, and see that the variable was exported before the start"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.cfg.Model, tc.cfg.APIURL = "glm-5", "https://api.example.com/v1"
			c, err := New(tc.cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if sent := strings.Contains(tc.want, "was sent in"); tc.cfg.HasKey() != sent {
				t.Errorf("has a key: %v", tc.cfg.HasKey())
			}
			e := c.explain.answered(401, http.Header{}, readFailure([]byte(`{"error":{"message":"no: `+secretKey+`"}}`)))
			if e.Hint != tc.want {
				t.Errorf("hint %q\nwant %q", e.Hint, tc.want)
			}
			if strings.Contains(fmt.Sprintf("%+v", e), secretKey) {
				t.Errorf("the key is in %+v", e)
			}
		})
	}
}

// slowError is what net gives for a connection that was not made in time.
type slowError struct{}

func (slowError) Error() string   { return "i/o timeout" }
func (slowError) Timeout() bool   { return true }
func (slowError) Temporary() bool { return true }

func TestWhyThereIsNoConnectionIsExplained(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	verify := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	for _, tc := range []struct {
		name       string
		err        error
		what, hint string
		retryable  bool
	}{
		{"a name that does not exist", dial(&net.DNSError{Err: "no such host", Name: "api.exmaple.com", IsNotFound: true}),
			`the host name "api.exmaple.com" cannot be resolved (no such host)`, "Check the spelling of the host in api_url", false},
		{"a name server that is silent", dial(&net.DNSError{Err: "i/o timeout", Name: "api.example.com", IsTimeout: true}),
			`the host name "api.example.com" cannot be resolved (i/o timeout)`, "Check the name server and the network of this machine, then api_url", true},
		{"nobody listens", dial(syscall.ECONNREFUSED), "the connection was refused: nothing listens there", "Check the host and port in api_url, and that the server is started", true},
		{"no network", dial(syscall.ENETUNREACH), "there is no way to the host (dial tcp: network is unreachable)", "Check the network of this machine, and its proxy if it needs one (HTTPS_PROXY)", true},
		{"a firewall that drops", dial(slowError{}), "the connection was not made in time (dial tcp: i/o timeout)", "Check that a firewall or a proxy lets requests through to the host in api_url", true},
		{"a proxy that is not there", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: dial(syscall.ECONNREFUSED)},
			"the proxy on the way cannot be reached (dial tcp: connection refused)", "Check HTTPS_PROXY and NO_PROXY of this process", true},
		{"a connection that is reset", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, "the connection failed before an answer came (read tcp: connection reset by peer)",
			"Check that api_url has the scheme and port of the server, and that no firewall or proxy cuts the connection", true},
		{"a connection that ends", io.EOF, "the connection failed before an answer came (EOF)",
			"Check that api_url has the scheme and port of the server, and that no firewall or proxy cuts the connection", true},
		{"HTTP where TLS was meant", errors.New("http: server gave HTTP response to HTTPS client"), "the server does not speak TLS", "Use http:// in api_url if that is meant", true},
		{"no TLS", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "the server does not speak TLS", "Use http:// in api_url if that is meant", false},
		{"a proxy that looks into TLS", verify(x509.UnknownAuthorityError{}),
			"the TLS handshake failed (tls: failed to verify certificate: x509: certificate signed by unknown authority)",
			"The certificate is of an authority that this machine does not know: a proxy may look into the connection; name its root certificate with SSL_CERT_FILE, or install it", false},
		{"a certificate that has expired", verify(x509.CertificateInvalidError{Reason: x509.Expired, Detail: "in 2020"}),
			"the TLS handshake failed (tls: failed to verify certificate: x509: certificate has expired or is not yet valid: in 2020)",
			"The certificate has expired or is not valid yet: check the clock of this machine, else the provider has to renew it", false},
		{"a certificate of another host", verify(x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"other.example"}}, Host: "api.example.com"}),
			"the TLS handshake failed (tls: failed to verify certificate: x509: certificate is valid for other.example, not api.example.com)", "The certificate is for another host: check the host name in api_url", false},
		{"a TLS alert", &net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}, "the TLS handshake failed (remote error: tls: handshake failure)",
			"Check the host name in api_url, the machine's clock and its root certificates", false},
		{"anything else", errors.New("strange"), "the connection failed (strange)", "Check api_url and the network of this machine", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := explainer{model: "glm-5", url: "https://api.example.com/v1/chat/completions", redact: newRedactor()}
			e := x.unreachable(tc.err)
			if e.Kind != KindTransport || e.Retryable() != tc.retryable {
				t.Errorf("kind %s, retryable %v", e.Kind, e.Retryable())
			}
			want := `model "glm-5" at https://api.example.com/v1/chat/completions: ` + tc.what
			if diff := cmp.Diff([]string{want, tc.hint}, []string{e.Fault(), e.Hint}); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestWaitsAreToldInWholeSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Millisecond: "1s", 1600 * time.Millisecond: "2s", time.Hour: "1h0m0s"} {
		if got := waitWords(d); got != want {
			t.Errorf("%s is told as %s, want %s", d, got, want)
		}
	}
}
