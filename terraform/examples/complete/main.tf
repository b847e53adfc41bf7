# A store in a folder of a bucket of its own, and the role of the chart's release `passband` in namespace `passband`.
provider "aws" {
  region = var.region
}

module "passband" {
  source = "../.."

  name                       = "passband-worker"
  bucket                     = var.bucket
  prefix                     = "grading"
  noncurrent_days            = 30
  oidc_provider_arn          = var.oidc_provider_arn
  kubernetes_namespace       = "passband"
  kubernetes_service_account = "passband"

  tags = {
    project = "passband"
  }
}
