# What the chart takes.
output "store_url" {
  description = "The chart's store.url."
  value       = var.prefix == "" ? "s3://${aws_s3_bucket.store.id}" : "s3://${aws_s3_bucket.store.id}/${var.prefix}"
}

output "region" {
  description = "The chart's store.region."
  value       = aws_s3_bucket.store.region
}

output "role_arn" {
  description = "The chart's serviceAccount.annotations: eks.amazonaws.com/role-arn."
  value       = aws_iam_role.worker.arn
}

output "bucket_arn" {
  description = "The bucket's ARN."
  value       = aws_s3_bucket.store.arn
}
