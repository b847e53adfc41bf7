{{/* Names and labels that the templates share. */}}
{{- define "vllm.name" -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- end -}}

{{- define "vllm.selector" -}}
app.kubernetes.io/name: vllm
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vllm.labels" -}}
{{ include "vllm.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "vllm.image" -}}
{{- $tag := ternary "" (printf ":%s" .Values.image.tag) (empty .Values.image.tag) -}}
{{- $digest := ternary "" (printf "@%s" .Values.image.digest) (empty .Values.image.digest) -}}
{{- printf "%s%s%s" .Values.image.repository $tag $digest -}}
{{- end -}}
