{{/* The arguments of `vllm serve`, a line each. What a value does not say, vLLM decides. */}}
{{- define "vllm.args" -}}
- {{ .Values.model.name | quote }}
- --host=0.0.0.0
- --port=8000
- {{ printf "--served-model-name=%s" (.Values.model.servedName | default .Values.model.name) | quote }}
{{- with .Values.model.revision }}
- {{ printf "--revision=%s" . | quote }}
{{- if not $.Values.model.tokenizer }}
- {{ printf "--tokenizer-revision=%s" . | quote }}
{{- end }}
{{- end }}
{{- with .Values.model.tokenizer }}
- {{ printf "--tokenizer=%s" . | quote }}
{{- end }}
- --dtype={{ .Values.model.dtype }}
{{- with .Values.model.maxLength }}
- --max-model-len={{ int . }}
{{- end }}
- --tensor-parallel-size={{ .Values.tensorParallelSize }}
{{- with .Values.lora.modules }}
- --enable-lora
- --max-lora-rank={{ $.Values.lora.maxRank }}
- --max-loras={{ $.Values.lora.maxLoaded | default (len .) }}
- --lora-modules
{{- range . }}
- {{ dict "name" .name "path" .path "base_model_name" ($.Values.model.servedName | default $.Values.model.name) | toJson | squote }}
{{- end }}
{{- end }}
{{- with .Values.reasoningParser }}
- --reasoning-parser={{ . }}
{{- end }}
{{- with .Values.toolCallParser }}
# The one is nothing without the other: a request with tools is refused as long as the choice is not automatic.
- --enable-auto-tool-choice
- --tool-call-parser={{ . }}
{{- end }}
# Tells in a reply's usage how much of its prompt was cached: passband records it a turn.
- --enable-prompt-tokens-details
# At SIGTERM running requests get this long to end; vLLM's own 0 gives them none. One that is not done then gets nothing more, and hangs
# until SIGKILL: so that comes soon after.
- --shutdown-timeout={{ max 0 (sub .Values.terminationGraceSec 5) }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Whatever vLLM and its libraries write goes to volumes: the image's own disk is only read. */}}
{{- define "vllm.env" -}}
- { name: HOME, value: /tmp }
# Libraries name folders after the user, and this uid has no name in the image.
- { name: USER, value: vllm }
- { name: LOGNAME, value: vllm }
- { name: HF_HOME, value: /cache/huggingface }
- { name: VLLM_CACHE_ROOT, value: /cache/vllm }
- { name: TORCHINDUCTOR_CACHE_DIR, value: /cache/inductor }
- { name: TRITON_CACHE_DIR, value: /cache/triton }
- { name: VLLM_NO_USAGE_STATS, value: '1' }
- { name: DO_NOT_TRACK, value: '1' }
{{- if .Values.huggingFace.offline }}
- { name: HF_HUB_OFFLINE, value: '1' }
{{- end }}
{{- with .Values.huggingFace.tokenSecret }}
- { name: HF_TOKEN, valueFrom: { secretKeyRef: { name: {{ . }}, key: {{ $.Values.huggingFace.tokenKey }} } } }
{{- end }}
{{- with .Values.apiKey.secret }}
- { name: VLLM_API_KEY, valueFrom: { secretKeyRef: { name: {{ . }}, key: {{ $.Values.apiKey.key }} } } }
{{- end }}
{{- range .Values.env }}
- {{ toJson . }}
{{- end }}
{{- end -}}

{{/* What values ask for, and the GPUs: as many as one replica is cut into. */}}
{{- define "vllm.resources" -}}
{{- $resources := deepCopy .Values.resources -}}
{{- $count := .Values.gpu.count -}}
{{- if kindIs "invalid" $count -}}{{- $count = .Values.tensorParallelSize -}}{{- end -}}
{{- if gt (int $count) 0 -}}
{{- $gpus := dict .Values.gpu.resource (int $count) -}}
{{- $_ := set $resources "requests" (merge (dict .Values.gpu.resource (int $count)) (default dict $resources.requests)) -}}
{{- $_ := set $resources "limits" (merge $gpus (default dict $resources.limits)) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{- define "vllm.volumes" -}}
- { name: tmp, emptyDir: {} }
{{- with .Values.sharedMemory }}
- { name: shared-memory, emptyDir: { medium: Memory, sizeLimit: {{ . }} } }
{{- end }}
{{- if eq .Values.cache.kind "emptyDir" }}
- name: cache
  emptyDir:
    {{- with .Values.cache.size }}
    sizeLimit: {{ . }}
    {{- else }} {}
    {{- end }}
{{- else if eq .Values.cache.kind "hostPath" }}
- { name: cache, hostPath: { path: {{ .Values.cache.hostPath | quote }}, type: Directory } }
{{- else if .Values.cache.existingClaim }}
- { name: cache, persistentVolumeClaim: { claimName: {{ .Values.cache.existingClaim }} } }
{{- end }}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
