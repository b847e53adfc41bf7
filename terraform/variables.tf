# What the module takes.
variable "name" {
  description = "Name of the role and its policy, and the beginning of nothing else: 1 to 60 characters."
  type        = string
  default     = "passband-worker"

  validation {
    condition     = can(regex("^[A-Za-z0-9+=,.@_-]{1,60}$", var.name))
    error_message = "name: 1 to 60 letters, digits and +=,.@_-."
  }
}

variable "bucket" {
  description = "Name of the bucket, unique in all of S3. It is made here."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "bucket: 3 to 63 lower-case letters, digits, dots and dashes."
  }
}

variable "prefix" {
  description = "Folder of the bucket that the worker may use, without slashes at its ends. Empty: all of it."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^([^/*?]+(/[^/*?]+)*)?$", var.prefix))
    error_message = "prefix: folders between single slashes, none at the ends, and no * or ?."
  }
}

variable "kms_key_arn" {
  description = "KMS key that encrypts what is stored. Null: keys of S3 itself (AES256)."
  type        = string
  default     = null
}

variable "noncurrent_days" {
  description = "Days that an overwritten or removed object is kept as an old version."
  type        = number
  default     = 90

  validation {
    condition     = var.noncurrent_days >= 1
    error_message = "noncurrent_days: at least 1."
  }
}

variable "multipart_days" {
  description = "Days after which the parts of an upload that never ended are removed."
  type        = number
  default     = 1

  validation {
    condition     = var.multipart_days >= 1
    error_message = "multipart_days: at least 1."
  }
}

variable "force_destroy" {
  description = "Whether destroying the module destroys a bucket that still holds verdicts."
  type        = bool
  default     = false
}

variable "oidc_provider_arn" {
  description = "ARN of the IAM OIDC provider of the Kubernetes cluster."
  type        = string

  validation {
    condition     = can(regex("^arn:[^:]+:iam::[0-9]{12}:oidc-provider/.+$", var.oidc_provider_arn))
    error_message = "oidc_provider_arn: arn:aws:iam::ACCOUNT:oidc-provider/ISSUER."
  }
}

variable "kubernetes_namespace" {
  description = "Namespace of the chart's release."
  type        = string
  default     = "passband"
}

variable "kubernetes_service_account" {
  description = "Service account of the worker: the name of the chart's release."
  type        = string
  default     = "passband"

  validation {
    # A pattern would give the role to whoever can make a service account.
    condition     = !can(regex("[*?]", "${var.kubernetes_service_account}${var.kubernetes_namespace}"))
    error_message = "kubernetes_namespace, kubernetes_service_account: one name each, without * or ?."
  }
}

variable "tags" {
  description = "Tags of everything that is made."
  type        = map(string)
  default     = {}
}
