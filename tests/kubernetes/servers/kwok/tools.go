//go:build tools

// Package servers names kwok, which plays the kubelets, so that go.mod pins it.
package servers

import _ "sigs.k8s.io/kwok/cmd/kwok"
