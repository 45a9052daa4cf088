package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// faults are what a check finds, one sentence each.
type faults []string

func (f *faults) add(format string, a ...any) { *f = append(*f, fmt.Sprintf(format, a...)) }

// check checks the objects against each other.
func (o *objects) check() (f faults) {
	for _, p := range o.pods {
		f = append(f, p.checkSecurity()...)
		f = append(f, p.checkResources()...)
		f = append(f, p.checkPorts()...)
		f = append(f, o.checkReferences(p)...)
		f = append(f, o.checkNetwork(p)...)
	}
	f = append(f, o.checkInternet()...)
	f = append(f, o.checkSelectors()...)
	f = append(f, o.checkServices()...)
	return append(f, o.checkDrain()...)
}

// checkSecurity checks what Kubernetes calls the restricted profile, and that no file is written.
func (p pod) checkSecurity() (f faults) {
	s := p.spec.SecurityContext
	if s == nil || !is(s.RunAsNonRoot) || !equal(s.RunAsUser, 65532) || !equal(s.RunAsGroup, 65532) || !equal(s.FSGroup, 65532) ||
		s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		f.add("%s: security context of the pod = %v, want user and group 65532, not root, seccomp RuntimeDefault", p, s)
	}
	if p.spec.AutomountServiceAccountToken == nil || *p.spec.AutomountServiceAccountToken {
		f.add("%s: a token of the API server is mounted", p)
	}
	for _, c := range p.spec.Containers {
		s := c.SecurityContext
		if s == nil || !is(s.ReadOnlyRootFilesystem) || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
			f.add("%s: security context of container %s = %v, want a read-only root, no capabilities, no escalation", p, c.Name, s)
		}
	}
	return f
}

func is(b *bool) bool                 { return b != nil && *b }
func equal(p *int64, want int64) bool { return p != nil && *p == want }

// checkResources checks that memory is limited, that Go's limit is nine tenths of it, and that CPU is requested and
// not limited.
func (p pod) checkResources() (f faults) {
	for _, c := range p.spec.Containers {
		limits, requests := c.Resources.Limits, c.Resources.Requests
		if !limits.Cpu().IsZero() {
			f.add("%s: CPU of container %s is limited", p, c.Name)
		}
		if requests.Cpu().IsZero() || requests.Memory().IsZero() || limits.Memory().IsZero() {
			f.add("%s: container %s does not request CPU and memory, or has no memory limit", p, c.Name)
			continue
		}
		i := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == "GOMEMLIMIT" })
		var mebibytes int64
		if i >= 0 {
			mebibytes, _ = strconv.ParseInt(strings.TrimSuffix(c.Env[i].Value, "MiB"), 10, 64)
		}
		if share := mebibytes << 20 * 100 / limits.Memory().Value(); share < 88 || share > 90 {
			f.add("%s: GOMEMLIMIT of container %s = %d %% of its memory limit, want 90 %%", p, c.Name, share)
		}
	}
	return f
}

// port returns the number of a container port of this name.
func (p pod) port(name string) (int32, bool) {
	for _, c := range p.spec.Containers {
		for _, port := range c.Ports {
			if port.Name == name {
				return port.ContainerPort, true
			}
		}
	}
	return 0, false
}

// checkPorts checks that a Deployment's pods have all three probes, on a port of theirs.
func (p pod) checkPorts() (f faults) {
	for _, c := range p.spec.Containers {
		for kind, probe := range probes(c) {
			if probe == nil || probe.HTTPGet == nil {
				if p.kind == "Deployment" {
					f.add("%s: container %s has no %s probe over HTTP", p, c.Name, kind)
				}
				continue
			}
			if name := probe.HTTPGet.Port.StrVal; name != "admin" {
				f.add("%s: port of the %s probe = %q, want admin", p, kind, name)
			} else if _, found := p.port(name); !found {
				f.add("%s: the %s probe's port %s is no port of the container", p, kind, name)
			}
			if strings.Contains(probe.HTTPGet.Path, "ready") != (kind == "readiness") {
				f.add("%s: path of the %s probe = %s", p, kind, probe.HTTPGet.Path)
			}
		}
	}
	return f
}

func probes(c corev1.Container) map[string]*corev1.Probe {
	return map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe}
}

// outside are ConfigMaps that the operator creates, as deploy/kubernetes.md says.
const outside = "callboard-ca"

// checkReferences checks that what a pod refers to exists, and that it mounts all volumes.
func (o *objects) checkReferences(p pod) (f faults) {
	if !o.accounts[p.spec.ServiceAccountName] {
		f.add("%s: service account %q does not exist", p, p.spec.ServiceAccountName)
	}
	volumes := map[string]bool{}
	for _, v := range p.spec.Volumes {
		volumes[v.Name] = false
		if v.ConfigMap != nil && v.ConfigMap.Name != outside && o.configMaps[v.ConfigMap.Name] == nil {
			f.add("%s: ConfigMap %s does not exist", p, v.ConfigMap.Name)
		}
		if v.PersistentVolumeClaim != nil && !o.claims[v.PersistentVolumeClaim.ClaimName] {
			f.add("%s: claim %s does not exist", p, v.PersistentVolumeClaim.ClaimName)
		}
		if v.Secret != nil && v.Secret.SecretName == "callboard-owner" && p.kind == "Deployment" {
			f.add("%s: it mounts the secret of the schemas' owner", p)
		}
	}
	for _, c := range p.spec.Containers {
		for _, m := range c.VolumeMounts {
			if _, found := volumes[m.Name]; !found {
				f.add("%s: volume %s does not exist", p, m.Name)
			}
			volumes[m.Name] = true
		}
		if _, err := o.environment(c); err != nil {
			f.add("%s: %v", p, err)
		}
	}
	for name, mounted := range volumes {
		if !mounted {
			f.add("%s: volume %s is not mounted", p, name)
		}
	}
	return f
}

// environment returns a container's environment variables.
func (o *objects) environment(c corev1.Container) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		m := o.configMaps[from.ConfigMapRef.Name]
		if m == nil {
			return nil, fmt.Errorf("ConfigMap %s does not exist", from.ConfigMapRef.Name)
		}
		maps.Copy(env, m.Data)
	}
	for _, v := range c.Env {
		env[v.Name] = v.Value
		if v.ValueFrom == nil {
			continue
		}
		key := v.ValueFrom.ConfigMapKeyRef
		if key == nil {
			return nil, fmt.Errorf("%s comes from elsewhere than a ConfigMap", v.Name)
		}
		m := o.configMaps[key.Name]
		if m == nil || m.Data[key.Key] == "" {
			return nil, fmt.Errorf("key %s of ConfigMap %s does not exist", key.Key, key.Name)
		}
		env[v.Name] = m.Data[key.Key]
	}
	return env, nil
}

// checkNetwork checks that no traffic of a pod is allowed unless a policy says so, and that its servers are.
func (o *objects) checkNetwork(p pod) (f faults) {
	var closed bool
	allowed := map[int32]bool{}
	for _, policy := range o.policies {
		selected, err := o.selected(&policy.Spec.PodSelector)
		if err != nil {
			f.add("policy %s: %v", policy.Name, err)
		}
		if !slices.ContainsFunc(selected, func(s pod) bool { return s.String() == p.String() }) {
			continue
		}
		types := policy.Spec.PolicyTypes
		closed = closed || slices.Contains(types, networkingv1.PolicyTypeEgress) && slices.Contains(types, networkingv1.PolicyTypeIngress)
		for _, rule := range policy.Spec.Egress {
			for _, port := range rule.Ports {
				allowed[port.Port.IntVal] = true
			}
		}
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				if _, found := p.port(port.Port.StrVal); !found {
					f.add("policy %s: %s has no port %s", policy.Name, p, port.Port)
				}
			}
		}
	}
	if !closed {
		f.add("%s: no policy closes it to both directions", p)
	}
	want := map[int32]bool{53: true}
	for _, c := range p.spec.Containers {
		for _, v := range c.Env {
			switch v.Name {
			case "CALLBOARD_POSTGRES_URL_FILE":
				want[5432] = true
			case "CALLBOARD_NATS_URL_FILE":
				want[4222] = true
			case "CALLBOARD_WEBHOOK_KEY_FILE":
				want[443], want[8443] = true, true
			}
		}
	}
	if !maps.Equal(allowed, want) {
		f.add("%s: ports that policies allow = %v, want %v", p, slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(want)))
	}
	return f
}

// checkSelectors checks that selectors select pods, and that a Deployment selects its own and no others.
func (o *objects) checkSelectors() (f faults) {
	check := func(what string, selector *metav1.LabelSelector, only string) {
		pods, err := o.selected(selector)
		if err != nil {
			f.add("%s: %v", what, err)
		}
		if len(pods) == 0 || only != "" && (len(pods) != 1 || pods[0].name != only) {
			f.add("%s: selected pods = %v, want those of %q", what, pods, only)
		}
	}
	for name, d := range o.deployments {
		check("Deployment "+name, d.Spec.Selector, name)
		for _, c := range d.Spec.Template.Spec.TopologySpreadConstraints {
			check("topology spread of "+name, c.LabelSelector, name)
		}
		if len(d.Spec.Template.Spec.TopologySpreadConstraints) < 2 {
			f.add("Deployment %s: pods are not spread over zones and hosts", name)
		}
	}
	for _, b := range o.budgets {
		check("disruption budget "+b.Name, b.Spec.Selector, b.Name)
	}
	for _, p := range o.policies {
		check("policy "+p.Name, &p.Spec.PodSelector, "")
	}
	for _, m := range o.monitors {
		check("pod monitor "+m.Name, &m.Spec.Selector, "")
	}
	for _, a := range o.autoscalers {
		if target := a.Spec.ScaleTargetRef; target.Kind != "Deployment" || o.deployments[target.Name] == nil {
			f.add("autoscaler %s: %s %s does not exist", a.Name, target.Kind, target.Name)
		} else if o.deployments[target.Name].Spec.Replicas != nil {
			f.add("Deployment %s sets replicas, which its autoscaler does", target.Name)
		}
	}
	return f
}

// checkServices checks that the ports of services, ingresses and monitors are ports of the pods behind them.
func (o *objects) checkServices() (f faults) {
	for name, s := range o.services {
		pods, err := o.selected(&metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		if err != nil || len(pods) == 0 {
			f.add("Service %s selects no pods", name)
		}
		for _, port := range s.Spec.Ports {
			f = append(f, checkPort("Service "+name, pods, port.TargetPort)...)
		}
	}
	for _, i := range o.ingresses {
		for _, rule := range i.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				backend := path.Backend.Service
				s := o.services[backend.Name]
				if s == nil || !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == backend.Port.Name }) {
					f.add("Ingress %s: Service %s has no port %s", i.Name, backend.Name, backend.Port.Name)
				}
			}
		}
	}
	for _, m := range o.monitors {
		pods, _ := o.selected(&m.Spec.Selector) // [objects.checkSelectors] reports the error
		for _, e := range m.Spec.PodMetricsEndpoints {
			f = append(f, checkPort("pod monitor "+m.Name, pods, intstr.FromString(*e.Port))...)
		}
	}
	return f
}

func checkPort(what string, pods []pod, port intstr.IntOrString) (f faults) {
	for _, p := range pods {
		if _, found := p.port(port.StrVal); !found {
			f.add("%s: %s has no port %s", what, p, port.String())
		}
	}
	return f
}

// afterDrain is what a reader takes at most after the drain, with a margin: 30 s for the requests that still run, 5
// s for the audit.
const afterDrain = 40 * time.Second

// checkDrain checks that a pod has the time to drain and to answer what still runs, and that the program listens on
// the pod's ports.
func (o *objects) checkDrain() (f faults) {
	for name, d := range o.deployments {
		env, err := o.environment(d.Spec.Template.Spec.Containers[0])
		if err != nil {
			continue // [objects.checkReferences] reports it
		}
		drain, err := time.ParseDuration(env["CALLBOARD_DRAIN"])
		if err != nil && name == "readapi" {
			f.add("Deployment %s: CALLBOARD_DRAIN: %v", name, err)
		}
		if grace := d.Spec.Template.Spec.TerminationGracePeriodSeconds; !equal(grace, int64((drain+afterDrain)/time.Second)) && name == "readapi" {
			f.add("Deployment %s: grace period = %v, want CALLBOARD_DRAIN and %s", name, grace, afterDrain)
		}
		p := pod{name: name, kind: "Deployment", spec: d.Spec.Template.Spec}
		for setting, portName := range map[string]string{"CALLBOARD_LISTEN": "http", "CALLBOARD_ADMIN_LISTEN": "admin"} {
			port, found := p.port(portName)
			if address := env[setting]; found != (address != "") || found && address != fmt.Sprintf(":%d", port) {
				f.add("Deployment %s: %s = %q, port %s = %d", name, setting, address, portName, port)
			}
		}
	}
	return f
}
