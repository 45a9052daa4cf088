package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifests = root + "/deploy/kubernetes"

// faultsOf renders an overlay of a copy of deploy/kubernetes and checks it.
func faultsOf(t *testing.T, folder, overlay string) faults {
	t.Helper()
	o, err := render(filepath.Join(folder, "overlays", overlay))
	if err != nil {
		return faults{err.Error()}
	}
	f := append(o.check(), built.checkSettings(t.Context(), o)...)
	f = append(f, checkImages(o)...)
	return append(f, newReadme(t).checkSecrets(o)...)
}

func TestOverlays(t *testing.T) {
	t.Parallel()
	for _, overlay := range []string{"single", "production"} {
		for _, fault := range faultsOf(t, manifests, overlay) {
			t.Errorf("%s: %s", overlay, fault)
		}
	}
}

// replaceIn replaces the first of a text in a file, which must have it.
func replaceIn(t *testing.T, path, old, replacement string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), old, replacement, 1)
	if changed == string(text) {
		t.Fatalf("%s does not contain %q", path, old)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Nobody trusts a network that no operator has named. The example of the overlay production is a network without hosts.
func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]bool{
		"base/kustomization.yaml": false, "overlays/single/kustomization.yaml": false, "overlays/production/kustomization.yaml": true,
	} {
		text, err := os.ReadFile(filepath.Join(manifests, file))
		if err != nil {
			t.Fatal(err)
		}
		named := strings.Contains(string(text), "TRUSTED_PROXIES")
		if named != want || named && !strings.Contains(string(text), "- CALLBOARD_TRUSTED_PROXIES=192.0.2.0/24 #") {
			t.Errorf("%s: names trusted proxies = %v, want %v, and those of the example", file, named, want)
		}
	}
}

// Each of these changes is found.
func TestOverlays_Wrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, old, new string
		want                 string // in one of the faults
	}{
		{"misspelled field", "base/readapi.yaml", "readinessProbe:", "readynessProbe:", `unknown field "spec.template.spec.containers[0].readynessProbe"`},
		{"field in the wrong place", "base/projector.yaml", "  replicas: 2", "  replicas: 2\n  serviceAccountName: x", `unknown field "spec.serviceAccountName"`},
		{"doubled field", "base/projector.yaml", "  replicas: 2", "  replicas: 2\n  replicas: 3", `mapping key "replicas" already defined`},
		{"wrong type", "base/projector.yaml", "replicas: 2", "replicas: two", "cannot unmarshal"},
		{"unknown field of a monitor", "components/monitoring/pod-monitor.yaml", "interval:", "every:", `unknown field "spec.podMetricsEndpoints[0].every"`},
		{"other namespace", "overlays/production/kustomization.yaml", "namespace: callboard\n", "namespace: phones\n", "want callboard"},
		{"port of a probe", "base/projector.yaml", "name: admin\n", "name: metrics\n", "probe's port admin is no port"},
		{"number of a port", "base/readapi.yaml", "containerPort: 9090", "containerPort: 9091", "CALLBOARD_ADMIN_LISTEN"},
		{"port of the service", "base/readapi.yaml", "targetPort: http", "targetPort: web", "has no port web"},
		{"port of the ingress", "components/ingress/ingress.yaml", "name: http", "name: web", "has no port web"},
		{"port of a policy", "components/monitoring/network-policy.yaml", "port: admin", "port: metrics", "has no port metrics"},
		{"port of a monitor", "components/monitoring/pod-monitor.yaml", "port: admin", "port: metrics", "has no port metrics"},
		{"selector of the service", "base/readapi.yaml", "  selector:\n    app.kubernetes.io/name: readapi", "  selector:\n    app.kubernetes.io/name: reader", "selects no pods"},
		{"target of the autoscaler", "base/readapi.yaml", "    kind: Deployment\n    name: readapi", "    kind: Deployment\n    name: reader", "Deployment reader does not exist"},
		{"setting", "base/kustomization.yaml", "CALLBOARD_AUDIT_DAYS", "CALLBOARD_AUDIT_TIME", "no setting CALLBOARD_AUDIT_TIME"},
		{"setting that is no secret", "base/jobs.yaml", "CALLBOARD_NATS_INBOX", "CALLBOARD_NATS_INBOX_FILE", "no setting CALLBOARD_NATS_INBOX_FILE"},
		{"setting of another program", "base/kustomization.yaml", "CALLBOARD_AUDIT_DAYS=90", "CALLBOARD_LISTEN=:8080", "no setting CALLBOARD_LISTEN"},
		{"flag", "base/jobs.yaml", "--partitions=", "--parts=", "no flag --parts"},
		{"command", "base/jobs.yaml", "[stream, create", "[streams, create", "streams"},
		{"secret", "base/projector.yaml", "secretName: callboard-projector", "secretName: projector", "does not create projector"},
		{"file of a secret", "base/projector.yaml", "/nats-projector-url", "/nats-url", "which no secret of deploy/kubernetes.md has"},
		{"owner's secret", "base/projector.yaml", "secretName: callboard-projector", "secretName: callboard-owner", "secret of the schemas' owner"},
		{"image", "base/kustomization.yaml", "  - name: callboard/projector\n    newTag: dev", "  - name: callboard/projector\n    newName: callboard/fold\n    newTag: dev", "no target fold"},
		{"no tag", "base/kustomization.yaml", "  - name: callboard/projector\n    newTag: dev\n", "", "with a tag"},
		{"service account", "base/projector.yaml", "serviceAccountName: projector", "serviceAccountName: project", `service account "project" does not exist`},
		{"volume", "base/projector.yaml", "- name: secrets\n          secret:", "- name: secret\n          secret:", "volume secrets does not exist"},
		{"not closed", "base/network-policies.yaml", "policyTypes: [Ingress, Egress]", "policyTypes: [Egress]", "no policy closes it"},
		{"no way to PostgreSQL", "base/network-policies.yaml", "[readapi, projector, webhooks, migrate,", "[readapi, webhooks, migrate,", "want [53 4222 5432]"},
		{"way that is not needed", "base/network-policies.yaml", "[readapi, projector, webhooks, streams,", "[readapi, projector, webhooks, streams, migrate,", "want [53 5432]"},
		{"way to a private network", "base/network-policies.yaml", "              - 10.0.0.0/8\n", "", "10.0.0.1 is reachable"},
		{"no way to the Internet", "base/network-policies.yaml", "cidr: 0.0.0.0/0", "cidr: 10.0.0.0/7", "1.1.1.1 is not reachable"},
		{"Internet for all", "base/network-policies.yaml", "  podSelector:\n    matchLabels:\n      app.kubernetes.io/name: webhooks", "  podSelector: {}", "want webhooks alone"},
		{"CPU limit", "base/projector.yaml", "              memory: 1Gi", "              memory: 1Gi\n              cpu: 1", "is limited"},
		{"memory", "overlays/single/kustomization.yaml", "        replicas: 1\n        template:\n          spec:\n            containers:\n              - name: readapi\n",
			"        replicas: 1\n        template:\n          spec:\n            containers:\n              - name: readapi\n                resources: {limits: {memory: 200Mi}}\n", "want 90 %"},
		{"root", "base/pod-security.yaml", "runAsUser: 65532", "runAsUser: 0", "want user and group 65532"},
		{"capability", "base/pod-security.yaml", "drop: [ALL]", "drop: [NET_RAW]", "no capabilities"},
		{"drain", "base/kustomization.yaml", "CALLBOARD_DRAIN=10s", "CALLBOARD_DRAIN=20s", "grace period"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := os.CopyFS(folder, os.DirFS(manifests)); err != nil {
				t.Fatal(err)
			}
			replaceIn(t, filepath.Join(folder, c.file), c.old, c.new)
			found := append(faultsOf(t, folder, "single"), faultsOf(t, folder, "production")...)
			if !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("faults = %q, want one with %q", found, c.want)
			}
		})
	}
}
