# The store's bucket, and the worker's identity: a role that one service account of one cluster may take, without a key.
locals {
  objects = var.prefix == "" ? "${aws_s3_bucket.store.arn}/*" : "${aws_s3_bucket.store.arn}/${var.prefix}/*"
  listed  = var.prefix == "" ? ["*"] : [var.prefix, "${var.prefix}/*"]
  issuer  = replace(var.oidc_provider_arn, "/^arn:[^:]+:iam::[0-9]+:oidc-provider\\//", "")
}

resource "aws_s3_bucket" "store" {
  bucket        = var.bucket
  force_destroy = var.force_destroy
  tags          = var.tags
}

# Verdicts are written once by the worker's own rules; versions keep them where anything else writes.
resource "aws_s3_bucket_versioning" "store" {
  bucket = aws_s3_bucket.store.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "store" {
  bucket = aws_s3_bucket.store.id

  rule {
    id     = "noncurrent-versions"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = var.noncurrent_days
    }

    expiration {
      expired_object_delete_marker = true
    }
  }

  rule {
    id     = "unfinished-uploads"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = var.multipart_days
    }
  }

  depends_on = [aws_s3_bucket_versioning.store]
}

resource "aws_s3_bucket_public_access_block" "store" {
  bucket = aws_s3_bucket.store.id

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "store" {
  bucket = aws_s3_bucket.store.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "store" {
  bucket = aws_s3_bucket.store.id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

data "aws_iam_policy_document" "bucket" {
  statement {
    sid       = "RefusePlainHttp"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.store.arn, "${aws_s3_bucket.store.arn}/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_s3_bucket_policy" "store" {
  bucket = aws_s3_bucket.store.id
  policy = data.aws_iam_policy_document.bucket.json

  # A policy of a bucket whose public access is still open could be refused.
  depends_on = [aws_s3_bucket_public_access_block.store]
}

data "aws_iam_policy_document" "worker" {
  # A write under `If-None-Match` is a PutObject; it answers 412 without any right of its own. Nothing is ever deleted.
  statement {
    sid       = "Objects"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
    resources = [local.objects]
  }

  # Without it S3 answers 403 for an object that is not there.
  statement {
    sid       = "Names"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.store.arn]

    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = local.listed
    }
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      sid       = "Key"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
    }
  }
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRoleWithWebIdentity"]

    principals {
      type        = "Federated"
      identifiers = [var.oidc_provider_arn]
    }

    condition {
      test     = "StringEquals"
      variable = "${local.issuer}:sub"
      values   = ["system:serviceaccount:${var.kubernetes_namespace}:${var.kubernetes_service_account}"]
    }

    condition {
      test     = "StringEquals"
      variable = "${local.issuer}:aud"
      values   = ["sts.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "worker" {
  name               = var.name
  description        = "passband: the worker reads and writes its store, and deletes nothing."
  assume_role_policy = data.aws_iam_policy_document.trust.json
  tags               = var.tags
}

resource "aws_iam_role_policy" "worker" {
  name   = var.name
  role   = aws_iam_role.worker.id
  policy = data.aws_iam_policy_document.worker.json
}
