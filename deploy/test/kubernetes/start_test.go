package kubernetes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"callboard/events/eventstest"
)

// Every program accepts its pod's settings, with the secrets that deploy/kubernetes.md makes, and its admin
// listener serves the paths of the probes. No server can be reached.
func TestPods_Start(t *testing.T) {
	t.Parallel()
	secrets := createSecrets(t)
	for _, overlay := range []string{"single", "production"} {
		o, err := render(filepath.Join(manifests, "overlays", overlay))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range o.pods {
			t.Run(overlay+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				c := p.spec.Containers[0]
				cmd := newReadme(t).command(t, o, p, secrets)
				if p.kind == "Deployment" {
					checkProbes(t, cmd, c)
					return
				}
				// 1: no server answers. 2 would be a missing or malformed setting.
				out, err := cmd.CombinedOutput()
				if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Contains(string(out), "no such file") {
					t.Errorf("%v: error = %v, want exit code 1 because no server answers\n%s", c.Args, err, out)
				}
			})
		}
	}
}

// createSecrets runs the commands of deploy/kubernetes.md that make the files of the secrets, with addresses at
// which no server listens.
func createSecrets(t *testing.T) (folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "secrets")
	out, err := exec.CommandContext(t.Context(), filepath.Join(built.folder, "callboard"), "secrets", "create", folder,
		"--nats", "tls://127.0.0.1:1", "--postgres", "127.0.0.1:1/callboard?sslmode=verify-full").CombinedOutput()
	if err != nil {
		t.Fatalf("secrets create: %v\n%s", err, out)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	replica, err := os.ReadFile(filepath.Join(folder, "postgres-reader-url"))
	if err != nil {
		t.Fatal(err)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	for name, content := range map[string][]byte{
		"postgres-reader-replica-url": replica, "webhook-read-urls": replica, "nats.crt": authority, "postgresql.crt": authority,
		"credentials": []byte("[default]\naws_access_key_id=a\naws_secret_access_key=b\n"),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// command returns the container's program with its volumes below a temporary folder.
func (r readme) command(t *testing.T, o *objects, p pod, secrets string) *exec.Cmd {
	t.Helper()
	c, files := p.spec.Containers[0], t.TempDir()
	for _, m := range c.VolumeMounts {
		if err := os.MkdirAll(filepath.Join(files, m.MountPath), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, key := range r.secrets[p.source(m.Name)] {
			// An error says that 'callboard secrets create' makes no such file.
			if err := os.Symlink(filepath.Join(secrets, key), filepath.Join(files, m.MountPath, key)); err != nil {
				t.Fatal(err)
			}
		}
	}
	inside := strings.NewReplacer("/run/", files+"/run/", "/var/", files+"/var/", "/backup", files+"/backup")
	cmd := exec.CommandContext(t.Context(), built.path(c))
	for _, a := range c.Args {
		cmd.Args = append(cmd.Args, inside.Replace(a))
	}
	env, err := o.environment(c)
	if err != nil {
		t.Fatal(err)
	}
	if p.kind == "Deployment" {
		env["CALLBOARD_ADMIN_LISTEN"], env["CALLBOARD_LISTEN"], env["CALLBOARD_DRAIN"] = "127.0.0.1:0", "127.0.0.1:0", "0s"
	}
	cmd.Env = []string{"HOME=" + files}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+inside.Replace(value))
	}
	return cmd
}

// checkProbes starts the program and requests the path of each probe.
func checkProbes(t *testing.T, cmd *exec.Cmd, c corev1.Container) {
	t.Helper()
	var log eventstest.LogBuffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var address []string
	eventstest.Eventually(t, "the admin address in the log", func() bool {
		address = regexp.MustCompile(`"admin":"([^"]+)"`).FindStringSubmatch(log.String())
		return address != nil
	})
	for kind, probe := range probes(c) {
		want := http.StatusOK
		if kind == "readiness" {
			want = http.StatusServiceUnavailable // no server answers
		}
		response, err := http.Get(fmt.Sprintf("http://%s%s", address[1], probe.HTTPGet.Path)) //nolint:noctx // the test ends the program
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s probe: status of %s = %d, want %d", kind, probe.HTTPGet.Path, response.StatusCode, want)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, log.String())
	}
}
