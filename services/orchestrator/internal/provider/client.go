package provider

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

// Client is one model at one endpoint. It is safe for concurrent use.
type Client struct {
	cfg       Config
	endpoint  *url.URL
	transport http.RoundTripper
	own       *http.Transport // the transport to close; nil when it was given
	memory    endpointMemory
	explain   explainer
}

var _ Streamer = (*Client)(nil)

// New checks cfg and returns its client. No request is made. Errors name the
// configuration key to correct.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	endpoint, err := cfg.check()
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(cfg.APIKey.Reveal())
	trimmed := key != cfg.APIKey.Reveal()
	cfg.Model, cfg.APIKey = strings.TrimSpace(cfg.Model), config.Secret(key)
	c := &Client{cfg: cfg, endpoint: endpoint, transport: cfg.HTTPTransport}
	if c.transport == nil {
		c.own = newTransport()
		c.transport = c.own
	}
	c.explain = explainer{
		model: cfg.Model, url: displayURL(endpoint.String()),
		key: keyFactsOf(cfg, trimmed), redact: newRedactor(secretsOf(cfg, endpoint)...),
	}
	return c, nil
}

// secretsOf lists every value of cfg that must never be shown.
func secretsOf(cfg Config, endpoint *url.URL) []string {
	secrets := []string{cfg.APIKey.Reveal()}
	for _, v := range cfg.Headers {
		secrets = append(secrets, v)
	}
	for name, values := range endpoint.Query() {
		if name != versionQuery { // refusals speak of it
			secrets = append(secrets, values...)
		}
	}
	return secrets
}

// Endpoint returns the address that is called, without its query.
func (c *Client) Endpoint() string { return c.explain.url }

// String describes the client without its secrets.
func (c *Client) String() string { return c.cfg.String() }

// GoString is String, so that %#v shows no secret either.
func (c *Client) GoString() string { return "provider.Client{" + c.String() + "}" }

// Close drops idle connections. Calls in flight go on.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Stream makes one attempt at the call; see Streamer.
func (c *Client) Stream(ctx context.Context, req Request, yield func(Delta) error) (Response, error) {
	asked := req
	req, names := rename(req)
	offered := req.Tools
	switch {
	case c.cfg.ToolMode == ToolsPrompted:
		req = promptTools(req, c.cfg.Profile.Schemas)
	case req.ToolChoiceNone && c.cfg.Profile.NoToolChoice:
		req.Messages = withRule(req.Messages, callNoTool)
	}
	req = c.cfg.Profile.IDs.renumber(req)
	x := &exchange{client: c, req: req}
	cfg := openai.DefaultConfig(c.cfg.APIKey.Reveal())
	cfg.BaseURL = strings.TrimSuffix(c.explain.url, completionsPath)
	cfg.HTTPClient = x

	stream, err := openai.NewClientWithConfig(cfg).CreateChatCompletionStream(ctx, c.wiring().request(req))
	if err != nil {
		return Response{}, c.refused(err)
	}
	defer stream.Close()

	a := newAssembler(c.cfg, offered)
	if w := x.used.warning(); w != "" {
		a.warn("%s", w)
	}
	err = x.receive(ctx, stream, a, names.hear(yield))
	resp := a.response()
	names.restore(resp.Calls)
	resp.RequestID = cmp.Or(x.requestID, c.explain.redact.clean(resp.RequestID, maxRequestID))
	resp.Model = c.explain.redact.clean(resp.Model, maxModelName)
	if resp.Usage == (Usage{}) {
		resp.Usage = estimateUsage(asked, resp)
	}
	return resp, err
}

// wiring is how requests are written.
func (c *Client) wiring() wiring {
	return wiring{model: c.cfg.Model, profile: c.cfg.Profile, thinking: c.cfg.Thinking}
}

// refused explains a request that never became an answer.
func (c *Client) refused(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return c.explain.unmakeable(err)
}
