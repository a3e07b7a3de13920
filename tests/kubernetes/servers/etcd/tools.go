//go:build tools

// Package servers names etcd, so that go.mod pins it.
package servers

import _ "go.etcd.io/etcd/server/v3"
