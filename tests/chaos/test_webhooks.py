"""Each change is told at least once and in its order, whatever the receiver does and whenever the service is killed."""

from __future__ import annotations

import random
from pathlib import Path

from tests.chaos.webhook_siege import WebhookSiege
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config
from tests.system.webhook_receiver import add_webhook, running_receiver


def test_every_change_is_told_in_order_through_kills_and_moods(model_folder: Path) -> None:
    with fresh_folder() as folder, running_receiver() as receiver:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        add_webhook(config, "siege", receiver, timeout_ms="500")
        with RunningService(config) as service:
            siege = WebhookSiege(service, receiver, random.Random(11), ["ana", "bob", "eve"])
            siege.rage(4, step_s=0.4, kill_every=4)
            assert siege.faults() == []
            assert siege.kills == 1
            assert sum(map(len, siege.changes.values())) > 30
