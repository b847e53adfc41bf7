# What differs between two installations.
variable "region" {
  description = "AWS region of the bucket."
  type        = string
  default     = "eu-central-1"
}

variable "bucket" {
  description = "Name of the bucket."
  type        = string
}

variable "oidc_provider_arn" {
  description = "ARN of the IAM OIDC provider of the Kubernetes cluster."
  type        = string
}
