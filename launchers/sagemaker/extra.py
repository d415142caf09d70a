"""What has to be installed before anything asks AWS."""

from __future__ import annotations

from launchers.core.extras import Extra

SDK = Extra("aws", {"boto3": "boto3", "botocore": "botocore"})
