{{/* What the worker's pod and the job's have in common: who they run as, what they read, how they reach the store. */}}
{{- define "passband.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "passband.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "passband.env" -}}
- { name: PASSBAND_STORE, value: {{ .Values.store.url | quote }} }
- { name: PASSBAND_SANDBOX, value: kubernetes }
- { name: PASSBAND_KUBERNETES, value: /etc/passband/kubernetes.yaml }
- { name: PASSBAND_TEMPORAL_ADDRESS, value: {{ .Values.temporal.address | quote }} }
- { name: PASSBAND_TEMPORAL_NAMESPACE, value: {{ .Values.temporal.namespace | quote }} }
{{- with .Values.store.region }}
- { name: AWS_REGION, value: {{ . | quote }} }
{{- end }}
{{- with .Values.store.credentialsSecret }}
- { name: AWS_ACCESS_KEY_ID, valueFrom: { secretKeyRef: { name: {{ . }}, key: AWS_ACCESS_KEY_ID } } }
- { name: AWS_SECRET_ACCESS_KEY, valueFrom: { secretKeyRef: { name: {{ . }}, key: AWS_SECRET_ACCESS_KEY } } }
- { name: AWS_SESSION_TOKEN, valueFrom: { secretKeyRef: { name: {{ . }}, key: AWS_SESSION_TOKEN, optional: true } } }
{{- end }}
{{- end -}}

{{- define "passband.mounts" -}}
- { name: config, mountPath: /etc/passband, readOnly: true }
- { name: tmp, mountPath: /tmp }
{{- with .Values.registrySecret }}
- { name: registry, mountPath: /etc/passband-registry, readOnly: true }
{{- end }}
{{- end -}}

{{- define "passband.volumes" -}}
- { name: config, configMap: { name: {{ include "passband.name" . }} } }
- { name: tmp, emptyDir: {} }
{{- with .Values.registrySecret }}
- { name: registry, secret: { secretName: {{ . }}, items: [{ key: .dockerconfigjson, path: config.json }] } }
{{- end }}
{{- end -}}

{{/* The driver's file: the values as they are, and what the chart knows better. */}}
{{- define "passband.config" -}}
{{- $config := merge (dict "namespace" .Values.trials.namespace) (deepCopy .Values.kubernetes) -}}
{{- if .Values.registrySecret -}}
{{- $_ := set $config.registry "dockerConfig" "/etc/passband-registry/config.json" -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
