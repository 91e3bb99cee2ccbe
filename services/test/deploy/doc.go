// Package deploy checks what is in deploy/ without a container engine or a
// cluster: the compose file against its schema, the kustomize overlays against
// the types of Kubernetes, and what each process would be started with against
// the binary itself.
//
// It is a module of its own and not part of the workspace, so that the libraries
// of Kubernetes and Compose are nobody else's dependencies.
package deploy
