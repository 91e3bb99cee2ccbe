package deploy

import (
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// reaches tells whether the policies let pods of a workload open connections to
// an address and port outside of the cluster.
func (c *cluster) reaches(t *testing.T, name, address string, port int32) bool {
	t.Helper()
	ip := netip.MustParseAddr(address)
	for _, p := range c.policies {
		if !slices.Contains(c.selected(t, &p.Spec.PodSelector), name) || !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			continue
		}
		for _, rule := range p.Spec.Egress {
			open := len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(at networkingv1.NetworkPolicyPort) bool {
				return at.Port.IntVal == port && (at.Protocol == nil || *at.Protocol == corev1.ProtocolTCP)
			})
			if open && slices.ContainsFunc(rule.To, func(peer networkingv1.NetworkPolicyPeer) bool { return within(t, peer.IPBlock, ip) }) {
				return true
			}
		}
	}
	return false
}

func within(t *testing.T, block *networkingv1.IPBlock, ip netip.Addr) bool {
	t.Helper()
	if block == nil {
		return false
	}
	parse := func(cidr string) netip.Prefix {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil || prefix != prefix.Masked() {
			t.Errorf("%q is no network: %v", cidr, err)
		}
		return prefix
	}
	return parse(block.CIDR).Contains(ip) && !slices.ContainsFunc(block.Except, func(cidr string) bool { return parse(cidr).Contains(ip) })
}

// calls tells whether the policies let pods of one workload call a port of
// another: one end must let them out, the other in.
func (c *cluster) calls(t *testing.T, from, to, port string) bool {
	t.Helper()
	var out, in bool
	peers := func(list []networkingv1.NetworkPolicyPeer, other string) bool {
		return slices.ContainsFunc(list, func(p networkingv1.NetworkPolicyPeer) bool {
			return p.NamespaceSelector == nil && p.PodSelector != nil && slices.Contains(c.selected(t, p.PodSelector), other)
		})
	}
	ports := func(list []networkingv1.NetworkPolicyPort) bool {
		return slices.ContainsFunc(list, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.StrVal == port })
	}
	for _, p := range c.policies {
		whom := c.selected(t, &p.Spec.PodSelector)
		for _, rule := range p.Spec.Egress {
			out = out || slices.Contains(whom, from) && peers(rule.To, to) && ports(rule.Ports)
		}
		for _, rule := range p.Spec.Ingress {
			in = in || slices.Contains(whom, to) && peers(rule.From, from) && ports(rule.Ports)
		}
	}
	return out && in
}

func TestNothingIsOpenThatNoPolicyNames(t *testing.T) {
	each(t, func(t *testing.T, _ string, c *cluster) {
		deny, ok := c.policies["deny-all"]
		if !ok || len(deny.Spec.PodSelector.MatchLabels) != 0 || len(deny.Spec.PolicyTypes) != 2 || deny.Spec.Ingress != nil || deny.Spec.Egress != nil {
			t.Errorf("deny-all: %+v", deny.Spec)
		}
		for name, p := range c.policies {
			whom := c.selected(t, &p.Spec.PodSelector)
			// The base names backends that the single process has not.
			if len(whom) == 0 && !slices.Contains([]string{"mysql", "bucket", "redis"}, name) {
				t.Errorf("policy %s is for nobody", name)
			}
			for _, rule := range p.Spec.Ingress {
				if len(rule.From) == 0 {
					t.Errorf("policy %s lets everybody in", name)
				}
				for _, at := range rule.Ports {
					if !slices.ContainsFunc(whom, func(w string) bool { _, err := c.workloads[w].port(*at.Port); return err == nil }) {
						t.Errorf("policy %s opens port %s, which none of %v has", name, at.Port, whom)
					}
				}
			}
			for _, rule := range p.Spec.Egress {
				if len(rule.To) == 0 {
					t.Errorf("policy %s lets everything out", name)
				}
			}
		}
	})
}

func TestWhoReachesWhat(t *testing.T) {
	const (
		web      = "93.184.215.14"
		web6     = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
		inside   = "10.96.0.1"
		metadata = "169.254.169.254"
	)
	for _, tc := range []struct {
		overlay, workload, address string
		port                       int32
		want                       bool
	}{
		{"single", "nanoclaw", web, 443, true},
		{"single", "nanoclaw", web6, 443, true},
		{"single", "nanoclaw", inside, 443, false},
		{"single", "nanoclaw", metadata, 80, false},
		{"split", "fetcher", web, 80, true},
		{"split", "fetcher", web, 8080, true},
		{"split", "fetcher", inside, 443, true}, // S3, which may be there
		{"split", "fetcher", inside, 80, false},
		{"split", "fetcher", inside, 8080, false},
		{"split", "fetcher", inside, 3306, false},
		{"split", "fetcher", inside, 6379, false},
		{"split", "fetcher", metadata, 80, false},
		{"split", "fetcher", metadata, 443, false},
		{"split", "fetcher", "fd00::1", 80, false},
		{"split", "search", web, 443, true},
		{"split", "search", inside, 443, false},
		{"split", "search", inside, 6379, true},
		{"split", "orchestrator", web, 443, true},
		{"split", "orchestrator", inside, 3306, true},
		{"split", "orchestrator", inside, 6379, false},
		{"split", "orchestrator", inside, 8080, false},
		{"split", "orchestrator", metadata, 80, false},
		{"split", "task-manager", inside, 3306, true},
		{"split", "task-manager", inside, 9000, true},
		{"split", "task-manager", inside, 6379, false},
		{"split", "task-manager", web, 443, true}, // S3 of a cloud
		{"split", "task-manager", web, 80, false},
		{"split", "task-manager", metadata, 443, false},
		{"split", "sandbox", web, 443, false},
		{"split", "sandbox", web, 80, false},
		{"split", "sandbox", web6, 443, false},
		{"split", "sandbox", inside, 443, false},
		{"split", "sandbox", inside, 3306, false},
		{"split", "sandbox", inside, 6379, false},
		{"split", "sandbox", inside, 9000, false},
		{"split", "sandbox", metadata, 80, false},
		{"split", "gateway", web, 443, false},
		{"split", "gateway", inside, 3306, false},
		{"split", "gateway", inside, 443, false},
	} {
		if got := render(t, tc.overlay).reaches(t, tc.workload, tc.address, tc.port); got != tc.want {
			t.Errorf("%s: %s reaches %s port %d: %t", tc.overlay, tc.workload, tc.address, tc.port, got)
		}
	}
}

func TestServicesReachEachOther(t *testing.T) {
	c := render(t, "split")
	for from, list := range callees {
		for _, to := range list {
			if !c.calls(t, from, to, "grpc") {
				t.Errorf("%s cannot call %s", from, to)
			}
		}
	}
}

// The fetcher reads documents of workspaces.
func TestFromWhereCodeRunsOnlyTheOrchestratorAndTheFetcherAreCalled(t *testing.T) {
	c := render(t, "split")
	for _, to := range targets {
		if got := c.calls(t, "sandbox", to, "grpc") || c.calls(t, "sandbox", to, "http"); got != (to == "orchestrator" || to == "fetcher") {
			t.Errorf("the sandbox calls %s: %t", to, got)
		}
	}
}

func TestClientsReachWhatTheyMay(t *testing.T) {
	each(t, func(t *testing.T, overlay string, c *cluster) {
		client := labels.Set{"nanoclaw/client": "yes"}
		open := map[string][]string{}
		for _, p := range c.policies {
			for _, rule := range p.Spec.Ingress {
				if !slices.ContainsFunc(rule.From, func(from networkingv1.NetworkPolicyPeer) bool {
					return from.NamespaceSelector != nil && len(from.NamespaceSelector.MatchLabels) == 0 && matches(t, from.PodSelector, client)
				}) {
					continue
				}
				for _, w := range c.selected(t, &p.Spec.PodSelector) {
					for _, at := range rule.Ports {
						if _, err := c.workloads[w].port(*at.Port); err == nil {
							open[w] = append(open[w], at.Port.StrVal)
						}
					}
				}
			}
		}
		want := map[string][]string{"nanoclaw": {"http", "grpc"}}
		if overlay == "split" {
			want = map[string][]string{
				"orchestrator": {"grpc"}, "search": {"grpc"}, "fetcher": {"grpc"}, "task-manager": {"grpc"}, "sandbox": {"grpc"},
				"gateway": {"http"},
			}
		}
		for _, w := range overlays[overlay] {
			if !slices.Equal(open[w], want[w]) {
				t.Errorf("%s is open to clients at %v, want %v", w, open[w], want[w])
			}
		}
	})
}

func matches(t *testing.T, selector *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	if selector == nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Error(err)
		return false
	}
	return s.Matches(set)
}
