// Package kubernetes tests the manifests in deploy/kubernetes: it renders them with kustomize, decodes them strictly,
// and compares them with the programs, the images and deploy/kubernetes.md. No API server is involved.
package kubernetes
