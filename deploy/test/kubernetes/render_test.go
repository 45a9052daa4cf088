package kubernetes

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// objects are the objects of a rendered folder.
type objects struct {
	pods        []pod
	configMaps  map[string]*corev1.ConfigMap
	claims      map[string]bool
	accounts    map[string]bool
	deployments map[string]*appsv1.Deployment
	services    map[string]*corev1.Service
	autoscalers []*autoscalingv2.HorizontalPodAutoscaler
	budgets     []*policyv1.PodDisruptionBudget
	ingresses   []*networkingv1.Ingress
	policies    []*networkingv1.NetworkPolicy
	monitors    []*monitoringv1.PodMonitor
	rules       []*monitoringv1.PrometheusRule
}

// pod is what a Deployment, Job or CronJob makes pods of.
type pod struct {
	name   string // of the object that makes it
	kind   string
	labels map[string]string
	spec   corev1.PodSpec
}

func (p pod) String() string { return p.kind + " " + p.name }

// render renders a folder with kustomize and decodes each object. A field that its type doesn't have is an error.
func render(folder string) (*objects, error) {
	if err := checkDuplicates(filepath.Dir(filepath.Dir(folder))); err != nil {
		return nil, err
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	decoder, err := strictDecoder()
	if err != nil {
		return nil, err
	}
	o := &objects{
		configMaps: map[string]*corev1.ConfigMap{}, claims: map[string]bool{}, accounts: map[string]bool{},
		deployments: map[string]*appsv1.Deployment{}, services: map[string]*corev1.Service{},
	}
	for _, resource := range rendered.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", resource.GetKind(), resource.GetName(), err)
		}
		if namespace := resource.GetNamespace(); namespace != "callboard" && resource.GetKind() != "Namespace" {
			return nil, fmt.Errorf("%s %s: namespace = %q, want callboard", resource.GetKind(), resource.GetName(), namespace)
		}
		if err := o.add(object); err != nil {
			return nil, err
		}
	}
	return o, o.addFile(decoder, filepath.Join(folder, "../../examples/command.yaml"))
}

// addFile adds the object of a file that kustomize does not see.
func (o *objects) addFile(decoder runtime.Decoder, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	object, _, err := decoder.Decode(text, nil, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return o.add(object)
}

// checkDuplicates returns an error if a file has a member twice in one object. Kustomize keeps one of the two and
// says nothing.
func checkDuplicates(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var content any
			if err := yaml.Unmarshal([]byte(document), &content); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		return nil
	})
}

func strictDecoder() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, monitoringv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true}), nil
}

func (o *objects) add(object runtime.Object) error {
	switch x := object.(type) {
	case *appsv1.Deployment:
		o.deployments[x.Name] = x
		o.addPod(x.ObjectMeta, "Deployment", x.Spec.Template)
	case *batchv1.Job:
		o.addPod(x.ObjectMeta, "Job", x.Spec.Template)
	case *batchv1.CronJob:
		o.addPod(x.ObjectMeta, "CronJob", x.Spec.JobTemplate.Spec.Template)
	case *corev1.ConfigMap:
		o.configMaps[x.Name] = x
	case *corev1.PersistentVolumeClaim:
		o.claims[x.Name] = true
	case *corev1.ServiceAccount:
		o.accounts[x.Name] = true
	case *corev1.Service:
		o.services[x.Name] = x
	case *autoscalingv2.HorizontalPodAutoscaler:
		o.autoscalers = append(o.autoscalers, x)
	case *policyv1.PodDisruptionBudget:
		o.budgets = append(o.budgets, x)
	case *networkingv1.Ingress:
		o.ingresses = append(o.ingresses, x)
	case *networkingv1.NetworkPolicy:
		o.policies = append(o.policies, x)
	case *monitoringv1.PodMonitor:
		o.monitors = append(o.monitors, x)
	case *monitoringv1.PrometheusRule:
		o.rules = append(o.rules, x)
	case *corev1.Namespace:
	default:
		return fmt.Errorf("%T: no check knows this type", object)
	}
	return nil
}

func (o *objects) addPod(meta metav1.ObjectMeta, kind string, template corev1.PodTemplateSpec) {
	o.pods = append(o.pods, pod{cmp.Or(meta.Name, meta.GenerateName), kind, template.Labels, template.Spec})
}

// selected returns the pods that a selector selects.
func (o *objects) selected(selector *metav1.LabelSelector) (pods []pod, err error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}
	for _, p := range o.pods {
		if s.Matches(labels.Set(p.labels)) {
			pods = append(pods, p)
		}
	}
	return pods, nil
}
