"""Process settings, tenant configuration, execution policy and prompts."""
