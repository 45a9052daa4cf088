package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// readme is what deploy/kubernetes.md says about Kubernetes.
type readme struct {
	text    string
	secrets map[string][]string // by name: the names of its files
}

// newReadme reads the secrets from the commands that create them.
func newReadme(t *testing.T) readme {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy/kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	r := readme{string(text), map[string][]string{}}
	joined := strings.ReplaceAll(r.text, "\\\n", " ")
	for _, command := range regexp.MustCompile(`kubectl [^\n]*create (?:secret generic|configmap) (\S+)([^\n]*)`).FindAllStringSubmatch(joined, -1) {
		for _, file := range regexp.MustCompile(`--from-file=(\S+)`).FindAllStringSubmatch(command[2], -1) {
			key, _, _ := strings.Cut(filepath.Base(file[1]), "=")
			if name, _, renamed := strings.Cut(file[1], "="); renamed {
				key = name
			}
			r.secrets[command[1]] = append(r.secrets[command[1]], key)
		}
	}
	return r
}

// checkSecrets checks that deploy/kubernetes.md creates each secret that a pod mounts, with each file that its
// settings name.
func (r readme) checkSecrets(o *objects) (f faults) {
	for _, p := range o.pods {
		for _, c := range p.spec.Containers {
			files := map[string]bool{}
			for _, m := range c.VolumeMounts {
				for _, key := range r.secrets[p.source(m.Name)] {
					files[filepath.Join(m.MountPath, key)] = true
				}
				if source := p.source(m.Name); source != "" && r.secrets[source] == nil && o.configMaps[source] == nil {
					f.add("%s: deploy/kubernetes.md does not create %s", p, source)
				}
			}
			for _, v := range c.Env {
				if strings.HasPrefix(v.Value, "/run/") && !files[v.Value] {
					f.add("%s: %s is %s, which no secret of deploy/kubernetes.md has", p, v.Name, v.Value)
				}
			}
		}
	}
	return f
}

// source is the name of the Secret or ConfigMap of a volume.
func (p pod) source(volume string) string {
	for _, v := range p.spec.Volumes {
		switch {
		case v.Name != volume:
		case v.Secret != nil:
			return v.Secret.SecretName
		case v.ConfigMap != nil:
			return v.ConfigMap.Name
		}
	}
	return ""
}

// Connections beside those of the pools that have a setting.
const (
	credentialConnections = 4
	readinessConnections  = 1 // to each server
	projectorConnections  = 5 // watermarks and metrics (2), locks, audit, console
	senderPool            = 8 // fan-out, tests and their outcomes, days, counts, judgement
	senderConnections     = 1 // its leases
	commandConnections    = 10
	reservedConnections   = 10 // superusers, replication
)

// The connections that deploy/kubernetes.md names are the most that the pods take, and the example's server has them.
func TestConnections(t *testing.T) {
	t.Parallel()
	r := newReadme(t)
	o, err := render(filepath.Join(manifests, "overlays/production"))
	if err != nil {
		t.Fatal(err)
	}
	setting := func(deployment, name string) int {
		env, err := o.environment(o.deployments[deployment].Spec.Template.Spec.Containers[0])
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(env[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	surge := func(deployment string) int {
		return o.deployments[deployment].Spec.Strategy.RollingUpdate.MaxSurge.IntValue()
	}
	readers, projectors := int(o.autoscalers[0].Spec.MaxReplicas)+surge("readapi"), int(*o.deployments["projector"].Spec.Replicas)+surge("projector")
	read, each := setting("readapi", "CALLBOARD_READ_CONNECTIONS"), setting("projector", "CALLBOARD_POSTGRES_CONNECTIONS")
	reader, projector := credentialConnections+readinessConnections, each+projectorConnections
	senders := int(*o.deployments["webhooks"].Spec.Replicas) + surge("webhooks")
	all := readers*(read+reader) + projectors*projector + senders*(senderPool+senderConnections) + commandConnections
	for _, want := range []string{
		fmt.Sprintf("| readers | %d | %d + %d | %d |", readers, read, reader, readers*(read+reader)),
		fmt.Sprintf("| projectors | %d | %d + %d | %d |", projectors, each, projectorConnections, projectors*projector),
		fmt.Sprintf("| senders | %d | %d + %d | %d |", senders, senderPool, senderConnections, senders*(senderPool+senderConnections)),
		fmt.Sprintf("| jobs and commands | | | %d |", commandConnections),
		fmt.Sprintf("| all | | | %d |", all),
		fmt.Sprintf("the primary gets %d, the replicas %d together", all-readers*read, readers*(read+readinessConnections)),
	} {
		if !strings.Contains(r.text, want) {
			t.Errorf("deploy/kubernetes.md does not contain %q", want)
		}
	}
	example, err := os.ReadFile(filepath.Join(manifests, "examples/cloudnative-pg.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`max_connections: "(\d+)"`).FindSubmatch(example)
	if match == nil {
		t.Fatal("examples/cloudnative-pg.yaml sets no max_connections")
	}
	if most, _ := strconv.Atoi(string(match[1])); most < all+reservedConnections {
		t.Errorf("max_connections of examples/cloudnative-pg.yaml = %d, want %d or more", most, all+reservedConnections)
	}
}
