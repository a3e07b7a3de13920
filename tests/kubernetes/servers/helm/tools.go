//go:build tools

// Package servers names helm, which installs the chart, so that go.mod pins it.
package servers

import _ "helm.sh/helm/v3/cmd/helm"
