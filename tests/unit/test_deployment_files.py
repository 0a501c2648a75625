"""The files an operator deploys with are what Ray's own schemas accept."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from config.policy import POLICY
from domain.errors import InvalidConfiguration

ROOT = Path(__file__).resolve().parents[2]


def test_the_cluster_file_passes_ray_s_own_validation() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = yaml.safe_load((ROOT / "cluster.yaml").read_text())
    validate_config(prepare_config(config))
    commands = " ".join(config["head_start_ray_commands"] + config["setup_commands"])
    assert "serve deploy serve.yaml" in commands
    assert "uv sync --frozen" in commands


def test_the_serve_file_passes_serve_s_own_validation() -> None:
    from ray.serve.schema import ServeDeploySchema

    schema = ServeDeploySchema.model_validate(yaml.safe_load((ROOT / "serve.yaml").read_text()))
    assert schema.http_options.host == "127.0.0.1"
    assert schema.applications[0].import_path == "serve.cluster:build"


def test_a_cluster_without_named_stores_is_refused(tmp_path: Path) -> None:
    from serve.cluster import build

    with pytest.raises(InvalidConfiguration, match="REDIS_URL"):
        build({"tenants": str(tmp_path)})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1"])
def test_a_cluster_that_listens_for_everybody_asks_who_they_are(host: str) -> None:
    from config.settings import Settings
    from serve.cluster import check_listening

    with pytest.raises(InvalidConfiguration, match=r"http_options\.host"):
        check_listening(Settings.load(), host)
    check_listening(Settings.load(auth={"mode": "api_keys", "keys": "keys.json"}), host)
    for loopback in ("127.0.0.1", "localhost", None):
        check_listening(Settings.load(), loopback)


def test_the_application_is_one_deployment_whose_replica_is_a_cell() -> None:
    from config.settings import Settings
    from config.tenants import TenantDirectory
    from serve.deployment import ONGOING, application

    settings = Settings.load(replicas_min=1, replicas_max=3, target_ongoing_requests=8)
    tenants = TenantDirectory.load(ROOT / "demo" / "tenants")
    deployment = application(settings, tenants)._bound_deployment
    assert deployment.name == "Chat"
    assert deployment.max_ongoing_requests == ONGOING >= 64
    config = deployment._deployment_config.autoscaling_config
    assert (config.min_replicas, config.max_replicas) == (1, 3)
    assert deployment._replica_config.placement_group_bundles == [{"CPU": 1.0}]
    assert POLICY.nodes.drain <= deployment._deployment_config.graceful_shutdown_timeout_s
