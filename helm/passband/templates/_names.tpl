{{/* Names and labels that the templates share. */}}
{{- define "passband.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* What belongs to no namespace is named after the release's, so that two installations do not share it. */}}
{{- define "passband.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "passband.name" .) -}}
{{- end -}}

{{- define "passband.selector" -}}
app.kubernetes.io/name: passband
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "passband.labels" -}}
{{ include "passband.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "passband.image" -}}
{{- $tag := ternary "" (printf ":%s" .Values.image.tag) (empty .Values.image.tag) -}}
{{- $digest := ternary "" (printf "@%s" .Values.image.digest) (empty .Values.image.digest) -}}
{{- printf "%s%s%s" .Values.image.repository $tag $digest -}}
{{- end -}}
