package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// root is the folder of the main module.
const root = "../../.."

// programs are the binaries that the images hold, built from this checkout.
type programs struct {
	folder string

	mu   sync.Mutex
	help map[string]string // by command
}

func buildPrograms(ctx context.Context) (*programs, error) {
	folder, err := os.MkdirTemp("", "callboard-kubernetes-")
	if err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags=operator", "-o", folder+string(filepath.Separator), "./cmd/callboard", "./cmd/projector", "./cmd/readapi", "./cmd/webhooks")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("build: %w\n%s", err, out), os.RemoveAll(folder))
	}
	return &programs{folder: folder, help: map[string]string{}}, nil
}

// path returns the path of the program in a container. Its image is named after it.
func (p *programs) path(c corev1.Container) string {
	name, _, _ := strings.Cut(filepath.Base(c.Image), ":")
	return filepath.Join(p.folder, name)
}

// helpOf returns the help of the program, or of the command that the arguments begin with.
func (p *programs) helpOf(ctx context.Context, c corev1.Container) (string, error) {
	words := slices.Clone(c.Args)
	if i := slices.IndexFunc(words, func(a string) bool { return strings.ContainsAny(a[:1], "-/") }); i >= 0 {
		words = words[:i]
	}
	command := strings.Join(append([]string{p.path(c)}, words...), " ")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.help[command] == "" {
		out, err := exec.CommandContext(ctx, p.path(c), append(words, "--help")...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s --help: %w\n%s", command, err, out)
		}
		p.help[command] = string(out)
	}
	return p.help[command], nil
}

// checkSettings checks that the programs know the settings and flags that containers give them.
func (p *programs) checkSettings(ctx context.Context, o *objects) (f faults) {
	flag := regexp.MustCompile(`^--[a-z-]+`)
	for _, pod := range o.pods {
		for _, c := range pod.spec.Containers {
			help, err := p.helpOf(ctx, c)
			if err != nil {
				f.add("%s: %v", pod, err)
				continue
			}
			env, err := o.environment(c)
			if err != nil {
				continue // [objects.checkReferences] reports it
			}
			for name := range env {
				if strings.HasPrefix(name, "CALLBOARD_") && !knows(help, name) {
					f.add("%s: %s has no setting %s", pod, filepath.Base(c.Image), name)
				}
			}
			for _, a := range c.Args {
				if name := flag.FindString(a); name != "" && !regexp.MustCompile(name+`\b`).MatchString(help) {
					f.add("%s: %s has no flag %s", pod, filepath.Base(c.Image), name)
				}
			}
		}
	}
	return f
}

// knows reports whether a help text has a setting, or a secret of which NAME_FILE is the file.
func knows(help, name string) bool {
	if secret, file := strings.CutSuffix(name, "_FILE"); file {
		return strings.Contains(help, "$"+secret+"[_FILE]")
	}
	return regexp.MustCompile(`\$` + name + `\b`).MatchString(help)
}

// checkImages checks that each image is a target of the Dockerfile.
func checkImages(o *objects) (f faults) {
	dockerfile, err := os.ReadFile(filepath.Join(root, "deploy/Dockerfile"))
	if err != nil {
		f.add("%v", err)
	}
	for _, pod := range o.pods {
		for _, c := range pod.spec.Containers {
			name, tag, _ := strings.Cut(filepath.Base(c.Image), ":")
			if filepath.Base(filepath.Dir(c.Image)) != "callboard" || tag == "" || tag == "latest" {
				f.add("%s: image = %s, want one of callboard's with a tag", pod, c.Image)
			}
			if !regexp.MustCompile(`(?m)^FROM .* AS ` + regexp.QuoteMeta(name) + `$`).Match(dockerfile) {
				f.add("%s: deploy/Dockerfile has no target %s", pod, name)
			}
		}
	}
	return f
}

func TestMain(m *testing.M) {
	code := 1
	p, err := buildPrograms(context.Background())
	if err == nil {
		built = p
		code = m.Run()
		err = os.RemoveAll(p.folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

//nolint:gochecknoglobals // what is built is the same for all tests
var built *programs
