//go:build tools

// Package servers names Kueue's manager, which the tests of a migration run, so that go.mod pins it.
package servers

import _ "sigs.k8s.io/kueue/cmd/kueue"
