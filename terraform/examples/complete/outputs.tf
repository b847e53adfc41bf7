# The values of the chart: tofu output -raw values > values-aws.yaml
output "values" {
  description = "The part of the chart's values that this decides."
  value = yamlencode({
    store = {
      url    = module.passband.store_url
      region = module.passband.region
    }
    serviceAccount = {
      annotations = { "eks.amazonaws.com/role-arn" = module.passband.role_arn }
    }
  })
}
