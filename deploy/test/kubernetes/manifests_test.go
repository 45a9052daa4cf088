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
