package deploy

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const kustomizeDir = "deploy/kustomize"

// overlays are the ways to run on Kubernetes, with the workloads of each.
var overlays = map[string][]string{
	"single": {"nanoclaw"},
	"split":  {"fetcher", "gateway", "orchestrator", "sandbox", "search", "task-manager"},
}

// workload is a Deployment or a StatefulSet.
type workload struct {
	name     string
	replicas *int32
	selector *metav1.LabelSelector
	pod      corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim
}

// container is the one of the pod.
func (w workload) container() corev1.Container { return w.pod.Spec.Containers[0] }

// cluster is what an overlay renders to.
type cluster struct {
	workloads  map[string]workload
	services   map[string]corev1.Service
	configMaps map[string]corev1.ConfigMap
	accounts   map[string]corev1.ServiceAccount
	namespaces map[string]corev1.Namespace
	policies   map[string]networkingv1.NetworkPolicy
	budgets    map[string]policyv1.PodDisruptionBudget
	scalers    map[string]autoscalingv2.HorizontalPodAutoscaler
}

// strict reads a document into a type that must know all of its keys.
func strict[T any](document []byte) (T, error) {
	var v T
	err := yaml.UnmarshalStrict(document, &v)
	return v, err
}

// add puts a document to the others of its kind.
func add[T any](to map[string]T, name string, document []byte) error {
	v, err := strict[T](document)
	to[name] = v
	return err
}

func (c *cluster) take(document []byte) error {
	var about struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
	}
	if err := yaml.Unmarshal(document, &about); err != nil {
		return err
	}
	name := about.Metadata.Name
	switch about.APIVersion + " " + about.Kind {
	case "v1 Namespace":
		return add(c.namespaces, name, document)
	case "v1 ServiceAccount":
		return add(c.accounts, name, document)
	case "v1 ConfigMap":
		return add(c.configMaps, name, document)
	case "v1 Service":
		return add(c.services, name, document)
	case "networking.k8s.io/v1 NetworkPolicy":
		return add(c.policies, name, document)
	case "policy/v1 PodDisruptionBudget":
		return add(c.budgets, name, document)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return add(c.scalers, name, document)
	case "apps/v1 Deployment":
		d, err := strict[appsv1.Deployment](document)
		c.workloads[name] = workload{name, d.Spec.Replicas, d.Spec.Selector, d.Spec.Template, nil}
		return err
	case "apps/v1 StatefulSet":
		s, err := strict[appsv1.StatefulSet](document)
		c.workloads[name] = workload{name, s.Spec.Replicas, s.Spec.Selector, s.Spec.Template, s.Spec.VolumeClaimTemplates}
		if _, ok := c.services[s.Spec.ServiceName]; !ok && err == nil {
			err = fmt.Errorf("service %s is not there, or comes after", s.Spec.ServiceName)
		}
		return err
	}
	return fmt.Errorf("no check knows a %s of %s", about.Kind, about.APIVersion)
}

func render(t *testing.T, overlay string) *cluster {
	t.Helper()
	return renderDir(t, filepath.Join(root, kustomizeDir, "overlays", overlay))
}

func renderDir(t *testing.T, dir string) *cluster {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		map[string]workload{}, map[string]corev1.Service{}, map[string]corev1.ConfigMap{}, map[string]corev1.ServiceAccount{},
		map[string]corev1.Namespace{}, map[string]networkingv1.NetworkPolicy{}, map[string]policyv1.PodDisruptionBudget{},
		map[string]autoscalingv2.HorizontalPodAutoscaler{},
	}
	for _, r := range resources.Resources() {
		document, err := r.AsYAML()
		if err == nil {
			err = c.take(document)
		}
		if err != nil {
			t.Errorf("%s %s: %v", r.GetKind(), r.GetName(), err)
		}
		if r.GetKind() != "Namespace" && r.GetNamespace() != "nanoclaw" {
			t.Errorf("%s %s is in the namespace %q", r.GetKind(), r.GetName(), r.GetNamespace())
		}
	}
	return c
}

// each runs a check on every overlay.
func each(t *testing.T, check func(t *testing.T, overlay string, c *cluster)) {
	t.Helper()
	for overlay := range overlays {
		t.Run(overlay, func(t *testing.T) { check(t, overlay, render(t, overlay)) })
	}
}

// selected are the names of the workloads whose pods a selector means.
func (c *cluster) selected(t *testing.T, selector *metav1.LabelSelector) []string {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Error(err)
		return nil
	}
	var out []string
	for name, w := range c.workloads {
		if s.Matches(labels.Set(w.pod.Labels)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// port is the number of a named port of a workload.
func (w workload) port(p intstr.IntOrString) (int32, error) {
	for _, own := range w.container().Ports {
		if p.Type == intstr.String && own.Name == p.StrVal || p.Type == intstr.Int && own.ContainerPort == p.IntVal {
			return own.ContainerPort, nil
		}
	}
	return 0, fmt.Errorf("%s has no port %s", w.name, p.String())
}

func TestAMisspeltKeyOfAManifestIsFound(t *testing.T) {
	_, err := strict[appsv1.Deployment]([]byte("apiVersion: apps/v1\nkind: Deployment\nspec: {replica: 2}\n"))
	if err == nil || !strings.Contains(err.Error(), `unknown field "replica"`) {
		t.Errorf("error = %v", err)
	}
}

func TestOverlaysHaveTheirWorkloads(t *testing.T) {
	each(t, func(t *testing.T, overlay string, c *cluster) {
		if got := slices.Sorted(maps.Keys(c.workloads)); !slices.Equal(got, overlays[overlay]) {
			t.Errorf("workloads %v, want %v", got, overlays[overlay])
		}
		for name, w := range c.workloads {
			if got := c.selected(t, w.selector); !slices.Equal(got, []string{name}) {
				t.Errorf("the selector of %s means %v", name, got)
			}
			image := plainImage
			if runsCode(w.container().Args) {
				image = codeImage
			}
			if len(w.pod.Spec.Containers) != 1 || w.container().Image != "registry.example.com/"+image+":dev" {
				t.Errorf("%s runs %v", name, w.pod.Spec.Containers)
			}
			checkTargets(t, w.container().Args)
			if served := w.container().Args[1:]; overlay == "split" && !slices.Equal(served, []string{name}) {
				t.Errorf("%s serves %v", name, served)
			}
		}
	})
}

func TestServicesLeadToPorts(t *testing.T) {
	each(t, func(t *testing.T, overlay string, c *cluster) {
		for name, s := range c.services {
			to := c.selected(t, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
			if len(to) != 1 {
				t.Errorf("service %s leads to %v", name, to)
				continue
			}
			for _, p := range s.Spec.Ports {
				if _, err := c.workloads[to[0]].port(p.TargetPort); err != nil {
					t.Errorf("service %s: %v", name, err)
				}
			}
			// gRPC clients see every pod only behind a name without an address.
			if headless := s.Spec.ClusterIP == corev1.ClusterIPNone; headless != (overlay == "split" && name != "gateway") {
				t.Errorf("service %s: clusterIP %q", name, s.Spec.ClusterIP)
			}
		}
	})
}

func TestPodsHaveNoRights(t *testing.T) {
	each(t, func(t *testing.T, _ string, c *cluster) {
		for name, w := range c.workloads {
			pod, own := w.pod.Spec, w.container().SecurityContext
			limits, requests := w.container().Resources.Limits, w.container().Resources.Requests
			all := pod.SecurityContext
			if all == nil || own == nil {
				t.Errorf("%s has no security context", name)
				continue
			}
			for what, ok := range map[string]bool{
				"runs as a user of its own":     all.RunAsNonRoot != nil && *all.RunAsNonRoot && *all.RunAsUser == nonRoot && *all.FSGroup == nonRoot,
				"has the default seccomp rules": all.SeccompProfile != nil && all.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault && (own.SeccompProfile == nil || runsCode(w.container().Args)),
				"cannot gain rights":            own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation && own.Privileged == nil,
				"has a read-only root":          own.ReadOnlyRootFilesystem != nil && *own.ReadOnlyRootFilesystem,
				"drops all capabilities":        own.Capabilities != nil && slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(own.Capabilities.Add) == 0,
				"holds no token of the cluster": pod.AutomountServiceAccountToken != nil && !*pod.AutomountServiceAccountToken,
				"is apart from its node":        !pod.HostNetwork && !pod.HostPID && !pod.HostIPC,
				"is bounded":                    !limits.Memory().IsZero() && !requests.Cpu().IsZero(),
			} {
				if !ok {
					t.Errorf("%s: not so: it %s", name, what)
				}
			}
			checkMemory(t, name, limits.Memory().Value(), environment(t, c, w))
			if _, ok := c.accounts[pod.ServiceAccountName]; !ok {
				t.Errorf("%s: there is no account %q", name, pod.ServiceAccountName)
			}
		}
	})
}

func TestPodsAreAskedHowTheyAreAndGetTimeToEnd(t *testing.T) {
	each(t, func(t *testing.T, _ string, c *cluster) {
		for name, w := range c.workloads {
			for kind, p := range map[string]*corev1.Probe{
				"startup": w.container().StartupProbe, "readiness": w.container().ReadinessProbe, "liveness": w.container().LivenessProbe,
			} {
				if err := w.probe(p); err != nil {
					t.Errorf("%s: %s probe: %v", name, kind, err)
				}
			}
			before := w.container().Lifecycle.PreStop.Sleep.Seconds
			grace := time.Duration(*w.pod.Spec.TerminationGracePeriodSeconds-before) * time.Second
			if grace <= drainTime(t) {
				t.Errorf("%s: %s are left to end, want over %s", name, grace, drainTime(t))
			}
		}
	})
}

func (w workload) probe(p *corev1.Probe) error {
	switch {
	case p == nil:
		return errors.New("there is none")
	case p.GRPC != nil:
		port, err := w.port(intstr.FromString("grpc"))
		if err == nil && port != p.GRPC.Port {
			err = fmt.Errorf("it asks port %d, gRPC is at %d", p.GRPC.Port, port)
		}
		return err
	case p.TCPSocket != nil:
		_, err := w.port(p.TCPSocket.Port)
		return err
	case p.HTTPGet != nil:
		// The edge guard refuses a request for the address of the pod.
		if h := p.HTTPGet.HTTPHeaders; len(h) != 1 || h[0].Name != "Host" || h[0].Value != "localhost" {
			return fmt.Errorf("headers %v", h)
		}
		if !slices.Contains([]string{"/healthz", "/readyz"}, p.HTTPGet.Path) {
			return fmt.Errorf("path %s", p.HTTPGet.Path)
		}
		_, err := w.port(p.HTTPGet.Port)
		return err
	}
	return errors.New("it asks nothing")
}

func TestReplicasAreScaledAndNotAllTakenAway(t *testing.T) {
	each(t, func(t *testing.T, overlay string, c *cluster) {
		for name, w := range c.workloads {
			scaler, scaled := c.scalers[name]
			budget, kept := c.budgets[name]
			if overlay == "single" {
				if *w.replicas != 1 || scaled || kept || len(w.claims) != 1 {
					t.Errorf("%s: one process on SQLite has one replica, a volume, and nothing to scale", name)
				}
				continue
			}
			if name == "sandbox" {
				if *w.replicas != 1 || scaled || len(w.claims) != 1 {
					t.Errorf("%s: files on a disk of its own are one pod's", name)
				}
			} else {
				if w.replicas != nil {
					t.Errorf("%s names its replicas, which its scaler decides", name)
				}
				if ref := scaler.Spec.ScaleTargetRef; ref.Kind != "Deployment" || ref.Name != name || *scaler.Spec.MinReplicas < 2 || len(scaler.Spec.Metrics) == 0 {
					t.Errorf("%s: scaler %+v", name, scaler.Spec)
				}
			}
			if got := c.selected(t, budget.Spec.Selector); !slices.Equal(got, []string{name}) || budget.Spec.MaxUnavailable.IntVal != 1 {
				t.Errorf("%s: budget for %v", name, got)
			}
		}
	})
}
