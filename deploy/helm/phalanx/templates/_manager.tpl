{{/* Fields that a value gives, on top of the file: (list . $configMap) */}}
{{- define "phalanx.configuration" -}}
{{- $root := index . 0 -}}
{{- $data := (index . 1).data -}}
{{- $chosen := deepCopy $root.Values.configuration -}}
{{- if $root.Values.certManager.enabled -}}
{{- $chosen = mergeOverwrite $chosen (dict "internalCertManagement" (dict "enable" false)) -}}
{{- end -}}
{{- if $chosen -}}
{{- $configuration := fromYaml (index $data "config.yaml") -}}
{{- $_ := set $data "config.yaml" (toYaml (mergeOverwrite $configuration $chosen)) -}}
{{- end -}}
{{- end }}

{{/* Of the fields that are read once, when the process starts; "" if none is chosen. Others do not restart it. */}}
{{- define "phalanx.restartChecksum" -}}
{{- $read := pick .Values.configuration "leaderElection" "clientConnection" "internalCertManagement" -}}
{{- if .Values.certManager.enabled }}{{ $_ := set $read "certManager" true }}{{ end -}}
{{- if $read }}{{ toJson $read | sha256sum }}{{ end -}}
{{- end }}

{{- define "phalanx.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ $tag }}{{ end -}}
{{- end -}}
{{- end }}

{{/* Fails for an option that is said already, or by a value: (list . $arguments) */}}
{{- define "phalanx.checkExtraArguments" -}}
{{- $said := dict "--log-format" "logFormat" "--log-level" "logLevel" "--webhook-port" "webhook.port"
  "--metrics-address" "metrics.enabled" "--feature-gates" "configuration.featureGates"
  "--drain-timeout" "drainSeconds" -}}
{{- $there := list "--health-address" -}}
{{- range index . 1 }}{{ $there = append $there (first (splitList "=" .)) }}{{ end -}}
{{- range (index . 0).Values.extraArgs -}}
{{- $option := first (splitList "=" .) -}}
{{- if hasKey $said $option }}{{ fail (printf "extraArgs: %s is said by the value %s" $option (get $said $option)) }}{{ end -}}
{{- if has $option $there }}{{ fail (printf "extraArgs: %s is said already, and other objects depend on it" $option) }}{{ end -}}
{{- $there = append $there $option -}}
{{- end -}}
{{- end }}

{{/* The manager's options: (list . $container) */}}
{{- define "phalanx.arguments" -}}
{{- $root := index . 0 -}}
{{- $container := index . 1 -}}
{{- $arguments := $container.args -}}
{{- $ports := $container.ports -}}
{{- with $root.Values -}}
{{- if not .metrics.enabled -}}
{{- $arguments = append (without $arguments "--metrics-address=:8443") "--metrics-address=0" -}}
{{- $ports = list -}}
{{- range $container.ports }}{{ if ne .name "metrics" }}{{ $ports = append $ports . }}{{ end }}{{ end -}}
{{- end -}}
{{- if ne (int .webhook.port) 9443 -}}
{{- $arguments = append $arguments (printf "--webhook-port=%d" (int .webhook.port)) -}}
{{- range $ports }}{{ if eq .name "webhook" }}{{ $_ := set . "containerPort" (int $root.Values.webhook.port) }}{{ end }}{{ end -}}
{{- end -}}
{{- if ne (int .drainSeconds) 100 -}}
{{- $arguments = append (without $arguments "--drain-timeout=100s") (printf "--drain-timeout=%ds" (int .drainSeconds)) -}}
{{- end -}}
{{- if ne .logFormat "text" }}{{ $arguments = append $arguments (printf "--log-format=%s" .logFormat) }}{{ end -}}
{{- if ne .logLevel "info" }}{{ $arguments = append $arguments (printf "--log-level=%s" .logLevel) }}{{ end -}}
{{- include "phalanx.checkExtraArguments" (list $root $arguments) -}}
{{- $_ := set $container "args" (concat $arguments .extraArgs) -}}
{{- $_ := set $container "ports" $ports -}}
{{- end -}}
{{- end }}

{{/* (list . $deployment) */}}
{{- define "phalanx.deployment" -}}
{{- $root := index . 0 -}}
{{- $spec := (index . 1).spec -}}
{{- $metadata := $spec.template.metadata -}}
{{- $pod := $spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- include "phalanx.arguments" (list $root $container) -}}
{{- $_ := set $container "image" (include "phalanx.image" $root) -}}
{{- with include "phalanx.restartChecksum" $root -}}
{{- $_ := set $metadata.annotations "phalanx.dev/read-at-start" . -}}
{{- end -}}
{{- with $root.Values -}}
{{- $_ := set $spec "replicas" (int .replicas) -}}
{{- $_ := set $pod "terminationGracePeriodSeconds" (add 30 (int .drainSeconds)) -}}
{{- $_ := set $container "imagePullPolicy" .image.pullPolicy -}}
{{- $_ := set $container "resources" .resources -}}
{{- $_ := set $metadata "labels" (merge $metadata.labels .podLabels) -}}
{{- $_ := set $metadata "annotations" (merge $metadata.annotations .podAnnotations) -}}
{{- $_ := set $container "volumeMounts" (concat $container.volumeMounts .extraVolumeMounts) -}}
{{- $_ := set $pod "volumes" (concat $pod.volumes .extraVolumes) -}}
{{- if .affinity }}{{ $_ := set $pod "affinity" .affinity }}{{ end -}}
{{- if .image.pullSecrets }}{{ $_ := set $pod "imagePullSecrets" .image.pullSecrets }}{{ end -}}
{{- range $field := list "nodeSelector" "tolerations" "topologySpreadConstraints" "priorityClassName" -}}
{{- with get $root.Values $field }}{{ $_ := set $pod $field . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end }}
