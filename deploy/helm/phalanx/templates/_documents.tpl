{{/*
The objects are those of deploy/*.yaml, which `phalanx install` prints, too: the folder files is links to them. A
template reads the documents of a file, changes what a value says, and prints them.
*/}}

{{/* The text of a file, for the namespace of the release: (list . "manager.yaml") */}}
{{- define "phalanx.file" -}}
{{- $root := index . 0 -}}
{{- $name := printf "files/%s" (index . 1) -}}
{{- $text := $root.Files.Get $name -}}
{{- if not $text }}{{ fail (printf "%s is not in the chart; package it with its links followed: helm package deploy/helm/phalanx" $name) }}{{ end -}}
{{- $namespace := $root.Release.Namespace -}}
{{- if not (kindIs "string" (fromYaml (printf "name: %s" $namespace)).name) }}{{ fail (printf "the namespace %s reads as something else in YAML; choose another name" $namespace) }}{{ end -}}
{{- $text | replace "phalanx-system" $namespace -}}
{{- end }}

{{/* Prints an object with the labels of the release: (list . $object) */}}
{{- define "phalanx.print" -}}
{{- $root := index . 0 -}}
{{- $object := index . 1 -}}
{{- if not $object.metadata }}{{ fail (printf "a document cannot be read: %s" (toJson $object)) }}{{ end -}}
{{- $labels := dict
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/managed-by" $root.Release.Service
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version) -}}
{{- $_ := set $object.metadata "labels" (merge (default dict $object.metadata.labels) $labels) -}}
---
{{ toYaml $object }}
{{ end }}

{{/* Labels and names of objects that only the chart has: (list . "name") */}}
{{- define "phalanx.metadata" -}}
name: {{ index . 1 }}
namespace: {{ (index . 0).Release.Namespace }}
labels:
  app.kubernetes.io/name: phalanx
  app.kubernetes.io/part-of: phalanx
{{- end }}

{{/* "true" if somebody else makes the certificates and tells API servers whom to trust. */}}
{{- define "phalanx.givenCertificates" -}}
{{- $enable := dig "internalCertManagement" "enable" true .Values.configuration -}}
{{- if not (or $enable .Values.certManager.enabled .Values.webhook.caBundle) -}}
{{- fail "configuration.internalCertManagement.enable=false: say whom API servers trust by webhook.caBundle, or choose certManager.enabled" -}}
{{- end -}}
{{- if or .Values.certManager.enabled (not $enable) }}true{{ end -}}
{{- end }}

{{/* Where API servers find the webhooks, and whom they trust: changes a clientConfig: (list . $clientConfig) */}}
{{- define "phalanx.clientConfig" -}}
{{- $root := index . 0 -}}
{{- $config := index . 1 -}}
{{- with $root.Values.webhook -}}
{{- if ne (int .servicePort) 443 }}{{ $_ := set $config.service "port" (int .servicePort) }}{{ end -}}
{{- if .caBundle }}{{ $_ := set $config "caBundle" (b64enc .caBundle) }}{{ end -}}
{{- end -}}
{{- end }}

{{/* Has cert-manager write the CA into what calls the webhooks: (list . $object) */}}
{{- define "phalanx.injectAuthority" -}}
{{- $root := index . 0 -}}
{{- $object := index . 1 -}}
{{- if and $root.Values.certManager.enabled (not $root.Values.webhook.caBundle) -}}
{{- $name := printf "%s/phalanx-webhook" $root.Release.Namespace -}}
{{- $annotations := default dict $object.metadata.annotations -}}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" $name -}}
{{- $_ := set $object.metadata "annotations" $annotations -}}
{{- end -}}
{{- end }}
