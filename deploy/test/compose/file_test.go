package compose

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
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
		if !service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"}) || len(service.CapAdd) > 0 ||
			!slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s: want read_only, cap_drop ALL and no-new-privileges", name)
		}
		if service.MemLimit == 0 || service.Logging == nil || service.Logging.Options["max-size"] == "" {
			t.Errorf("%s: memory limit = %d, logging = %v, want limits", name, service.MemLimit, service.Logging)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" && name != "tls" {
				t.Errorf("%s: port %s is published on %q, want 127.0.0.1", name, port.Published, port.HostIP)
			}
		}
	}
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

// Secrets are files: no variable holds one, and no file of the host does.
func TestSecretsAreFiles(t *testing.T) { eachProject(t, checkSecretsAreFiles) }

func checkSecretsAreFiles(t *testing.T, project *types.Project) {
	t.Helper()
	secret := regexp.MustCompile(`PASSWORD|PEPPER|_KEY|NATS_URL|POSTGRES_URL|READ_URL`)
	for name, service := range project.Services {
		for variable, value := range service.Environment {
			if secret.MatchString(variable) && (value == nil || !strings.HasSuffix(variable, "_FILE") || !strings.HasPrefix(*value, "/secrets/")) {
				t.Errorf("%s: %s = %v, want a file of /secrets", name, variable, value)
			}
		}
	}
}

// docker-compose 1.29.2 reads the files: they have none of the keys that came later.
func TestKeysOfComposeV1(t *testing.T) {
	t.Parallel()
	for _, file := range append(overlays(t), base) {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range laterKeys(t, content) {
			t.Errorf("%s: %s", file, problem)
		}
	}
	for key, text := range map[string]string{
		"name":                              "name: x\n",
		"include":                           "include: [x]\n",
		"services.a.develop":                "services: {a: {develop: {}}}",
		"services.a.healthcheck":            "services: {a: {healthcheck: {start_interval: 1s}}}",
		"services.a.depends_on.b":           "services: {a: {depends_on: {b: {required: false}}}}",
		"services.a.build":                  "services: {a: {build: {secrets: [x]}}}",
		"services.a.volumes":                "services: {a: {volumes: [{type: volume, volume: {subpath: x}}]}}",
		"configs.a":                         "configs: {a: {content: x}}",
		"secrets.a":                         "secrets: {a: {environment: x}}",
		"services.a.image: ${A:-${B}}":      "services: {a: {image: \"${A:-${B}}\"}}",
		"services.a.environment.A: ${A:+b}": "services: {a: {environment: {A: \"${A:+b}\"}}}",
	} {
		if got := laterKeys(t, []byte(text)); len(got) == 0 {
			t.Errorf("%s: no problem found, want one", key)
		}
	}
}

// laterKeys are the keys and spellings of the file that docker-compose 1.29.2 does not know.
func laterKeys(t *testing.T, content []byte) []string {
	t.Helper()
	var document map[string]any
	if err := yaml.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	var problems []string
	for key, value := range document {
		if !strings.HasPrefix(key, "x-") && !slices.Contains([]string{"services", "networks", "volumes", "configs", "secrets", "version"}, key) {
			problems = append(problems, key+": unknown to docker-compose 1.29.2")
		}
		elements, _ := value.(map[string]any)
		for name, element := range elements {
			problems = append(problems, laterIn(key, name, element)...)
		}
	}
	if match := regexp.MustCompile(`\$\{[^}]*\$\{|\$\{\w+:?\+`).Find(content); match != nil {
		problems = append(problems, string(match)+": an interpolation that docker-compose 1.29.2 does not know")
	}
	return problems
}

// laterIn are the unknown keys of one element. Only keys that this file uses are listed, and keys that are tempting.
func laterIn(section, name string, element any) (problems []string) {
	fields, _ := element.(map[string]any)
	check := func(where string, value any, known ...string) {
		part, _ := value.(map[string]any)
		for key := range part {
			if !slices.Contains(known, key) {
				problems = append(problems, section+"."+name+where+": "+key+" is unknown to docker-compose 1.29.2")
			}
		}
	}
	switch section {
	case "configs", "secrets":
		check("", element, "name", "file", "external", "labels", "driver", "driver_opts", "template_driver")
	case "services":
		check("", element, serviceKeys()...)
		check(".build", fields["build"], "context", "dockerfile", "args", "labels", "cache_from", "network", "target", "shm_size", "extra_hosts", "isolation")
		check(".healthcheck", fields["healthcheck"], "disable", "interval", "retries", "test", "timeout", "start_period")
		dependencies, _ := fields["depends_on"].(map[string]any)
		for dependency, condition := range dependencies {
			check(".depends_on."+dependency, condition, "condition")
		}
		volumes, _ := fields["volumes"].([]any)
		for _, volume := range volumes {
			check(".volumes", volume, "type", "source", "target", "read_only", "consistency", "bind", "volume", "tmpfs")
			if long, ok := volume.(map[string]any); ok {
				check(".volumes.volume", long["volume"], "nocopy")
			}
		}
	}
	return problems
}

// serviceKeys are the keys of a service in the schema of docker-compose 1.29.2.
func serviceKeys() []string {
	return strings.Fields(`blkio_config build cap_add cap_drop cgroup_parent command configs container_name cpu_count cpu_percent cpu_period
		cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset credential_spec depends_on deploy device_cgroup_rules devices dns dns_opt
		dns_search domainname entrypoint env_file environment expose extends external_links extra_hosts group_add healthcheck hostname image
		init ipc isolation labels links logging mac_address mem_limit mem_reservation mem_swappiness memswap_limit network_mode networks
		oom_kill_disable oom_score_adj pid pids_limit platform ports privileged profiles pull_policy read_only restart runtime scale secrets
		security_opt shm_size stdin_open stop_grace_period stop_signal storage_opt sysctls tmpfs tty ulimits user userns_mode volumes
		volumes_from working_dir`)
}

// Every file and folder of the checkout that the services use exists, and others than its owner may read it:
// containers do.
func TestReferences(t *testing.T) { eachProject(t, checkReferences) }

func checkReferences(t *testing.T, project *types.Project) {
	t.Helper()
	referenced := 0
	for name, service := range project.Services {
		var paths []string
		if service.Build != nil {
			paths = append(paths, filepath.Join(service.Build.Context, service.Build.Dockerfile))
		}
		for _, volume := range service.Volumes {
			if volume.Type == types.VolumeTypeBind {
				paths = append(paths, volume.Source)
			}
		}
		for _, path := range paths {
			referenced++
			info, err := os.Stat(path)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if info.Mode().Perm()&0o004 == 0 {
				t.Errorf("%s: %s has mode %v, want one that others may read", name, path, info.Mode())
			}
		}
	}
	if referenced < 8 {
		t.Errorf("references found = %d, want those of all services", referenced)
	}
}

// The overlay only adds: services keep the networks, the user and the files of docker-compose.yml.
func TestOverlay(t *testing.T) {
	t.Parallel()
	before, after := load(t), load(t, cluster)
	for name, service := range before.Services {
		changed := after.Services[name]
		if changed.User != service.User || changed.Image != service.Image ||
			!reflect.DeepEqual(changed.Networks, service.Networks) {
			t.Errorf("%s: user, image or networks = %+v, want those of %s", name, changed, base)
		}
		for _, volume := range service.Volumes {
			if !slices.ContainsFunc(changed.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == volume.Target && v.Source == volume.Source }) {
				t.Errorf("%s: volumes = %+v, want also %s", name, changed.Volumes, volume.Target)
			}
		}
		for variable, value := range service.Environment {
			if got := changed.Environment[variable]; value == nil || got == nil || *got != *value {
				t.Errorf("%s: %s = %v, want that of %s", name, variable, got, base)
			}
		}
	}
	want := []string{"nats2", "nats3", "replica", "standby-role"}
	var added []string
	for name := range after.Services {
		if _, ok := before.Services[name]; !ok {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	if !slices.Equal(added, want) {
		t.Errorf("added services = %v, want %v", added, want)
	}
	checkGroups(t, before)
	checkGroups(t, after)
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
