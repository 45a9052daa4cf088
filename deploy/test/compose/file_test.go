package compose

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// root is the checkout.
const root = "../../.."

const (
	base    = "docker-compose.yml"
	cluster = "deploy/compose/cluster.yml"
)

// overlays returns the files that are given together with docker-compose.yml, relative to the root.
func overlays(t *testing.T) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy/compose/*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("overlays = %v, %v, want some", files, err)
	}
	for _, file := range files {
		list = append(list, filepath.Join("deploy/compose", filepath.Base(file)))
	}
	return list
}

// load loads docker-compose.yml and overlays as Compose v2 does, with all profiles. Nothing needs a variable to be set.
func load(t *testing.T, overlays ...string) *types.Project {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	files := []types.ConfigFile{{Filename: filepath.Join(dir, base)}}
	for _, overlay := range overlays {
		files = append(files, types.ConfigFile{Filename: filepath.Join(dir, overlay)})
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: dir, ConfigFiles: files, Environment: types.Mapping{},
	}, func(o *loader.Options) {
		o.SetProjectName("callboard", true)
		o.Profiles = []string{"*"}
	})
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// eachProject runs a test with docker-compose.yml alone, and with each overlay.
func eachProject(t *testing.T, test func(*testing.T, *types.Project)) {
	t.Helper()
	t.Parallel()
	t.Run("base", func(t *testing.T) { test(t, load(t)) })
	for _, overlay := range overlays(t) {
		t.Run(filepath.Base(overlay), func(t *testing.T) { test(t, load(t, overlay)) })
	}
}

// Compose v2 reads the files, and what it reads is what is meant.
func TestFile(t *testing.T) { eachProject(t, checkProject) }

func checkProject(t *testing.T, project *types.Project) {
	t.Helper()
	if got, want := project.Services["readapi"].Environment["CALLBOARD_TRUSTED_PROXIES"], "172.16.77.0/24"; got == nil || *got != want {
		t.Errorf("trusted proxies = %v, want %s", got, want)
	}
	projector := project.Services["projector"]
	if got := projector.GetScale(); got != 2 {
		t.Errorf("projectors = %d, want 2", got)
	}
	for name, service := range project.Services {
		if service.ContainerName != "" {
			t.Errorf("%s: container_name = %s, want none: it prevents two installations, and --scale", name, service.ContainerName)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" && name != "tls" {
				t.Errorf("%s: port %s is published on %q, want 127.0.0.1", name, port.Published, port.HostIP)
			}
		}
	}
	checkGroups(t, project)
}

// Images are named by exact versions: what runs changes with the files, and not with what a registry names next.
func TestImages(t *testing.T) { eachProject(t, checkImages) }

func checkImages(t *testing.T, project *types.Project) {
	t.Helper()
	exact := regexp.MustCompile(`^(callboard/\w+:dev|postgres:\d+\.\d+|[\w/]+:v?\d+\.\d+\.\d+(-alpine)?)$`)
	for name, service := range project.Services {
		if !exact.MatchString(service.Image) {
			t.Errorf("%s: image = %s, want an exact version", name, service.Image)
		}
	}
}

// Senders of webhooks reach no monitoring port but those of senders. NATS monitors its own container alone: see
// TestNATSConf.
func TestSendersReachNoMonitoring(t *testing.T) { eachProject(t, checkSendersNetwork) }

func checkSendersNetwork(t *testing.T, project *types.Project) {
	t.Helper()
	for name, service := range project.Services {
		if _, reached := service.Networks["senders"]; !reached || name == "webhooks" {
			continue
		}
		if service.Image == project.Services["postgres"].Image {
			continue // also its standbys and workers
		}
		switch repository, _, _ := strings.Cut(service.Image, ":"); repository {
		case "nats":
		case "prom/prometheus":
			edge := service.Networks["edge"]
			if edge == nil || !slices.Equal(edge.Aliases, []string{"prometheus-edge"}) ||
				!slices.Contains(service.Command, "--web.listen-address=prometheus-edge:9090") {
				t.Errorf("%s: networks = %v, command = %v, want it to listen on the network edge alone", name, edge, service.Command)
			}
		default:
			t.Errorf("%s: networks = %v, want no service that senders don't need", name, service.NetworksByPriority())
		}
	}
}

// A program's memory limit and Go's own fit together: 90 %.
func TestMemoryLimits(t *testing.T) { eachProject(t, checkMemoryLimits) }

func checkMemoryLimits(t *testing.T, project *types.Project) {
	t.Helper()
	checked := 0
	for name, service := range project.Services {
		limit := service.Environment["GOMEMLIMIT"]
		if limit == nil {
			continue
		}
		checked++
		var got types.UnitBytes
		if err := got.DecodeMapstructure(strings.TrimSuffix(*limit, "iB")); err != nil {
			t.Fatalf("%s: GOMEMLIMIT = %s: %v", name, *limit, err)
		}
		if share := float64(got) / float64(service.MemLimit); share < 0.89 || share > 0.905 {
			t.Errorf("%s: GOMEMLIMIT = %s, want 90 %% of %d bytes", name, *limit, service.MemLimit)
		}
	}
	if checked < 4 {
		t.Errorf("services with GOMEMLIMIT = %d, want the Go programs", checked)
	}
}

// checkGroups checks that 'secrets create' is a member of every group that it gives a file to: only root needs no
// membership.
func checkGroups(t *testing.T, project *types.Project) {
	t.Helper()
	creating := project.Services["secrets"]
	for _, argument := range creating.Command {
		files, found := strings.CutPrefix(argument, "--groups=")
		for pair := range strings.SplitSeq(files, ",") {
			if _, group, _ := strings.Cut(pair, "="); found && !slices.Contains(creating.GroupAdd, group) {
				t.Errorf("%s: the service secrets has the groups %v, want also %s", pair, creating.GroupAdd, group)
			}
		}
	}
}
