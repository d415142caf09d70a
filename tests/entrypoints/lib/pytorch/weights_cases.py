"""First weights and freezing on a real PyTorch: FOLDER is for files; prints what came of each case.

What stands for torchvision's resnet50 has its parts and names, and few of them.
"""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import torch
from torch import nn

FOLDER = Path(sys.argv[1])


class SmallResNet(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, classes)

    def forward(self, pixels: Any) -> Any:
        return self.fc(self.bn1(self.conv1(pixels)).relu().mean(dim=(2, 3)))


torchvision: Any = types.ModuleType("torchvision")
torchvision.models = types.SimpleNamespace(resnet50=lambda weights: SmallResNet())
sys.modules["torchvision"] = torchvision

from lib.errors import PeerEndedError, TrainingError  # noqa: E402
from lib.pytorch import freezing, models  # noqa: E402
from lib.pytorch.export import export  # noqa: E402
from lib.pytorch.ranks import OneRank  # noqa: E402


def built(
    weights: Any = "none", model: str = "cnn", classes: int = 10, channels: int = 3, **more: Any
) -> Any:
    """A model by way of the command line's fields."""
    settings = types.SimpleNamespace(
        **{"model": model, "weights": str(weights), "freeze": "none", "dropout": 0.0, **more}
    )
    data = types.SimpleNamespace(shape=(32, 32, channels), classes=classes, brightest=255)
    return models.build_for(settings, data, OneRank())


def saved(name: str, content: Any) -> Path:
    torch.save(content, FOLDER / name)
    return FOLDER / name


def equal(one: Any, other: Any, until: int | None = None) -> bool:
    """Whether their tensors are, of all layers or of the first so many."""
    pairs = zip(list(one)[:until], list(other)[:until], strict=True)
    return all(
        mine.shape == theirs.shape and torch.equal(mine, theirs)
        for first, second in pairs
        for mine, theirs in zip(
            first.state_dict().values(), second.state_dict().values(), strict=True
        )
    )


def refused(**asked: Any) -> str:
    try:
        built(**asked)
    except (TrainingError, PeerEndedError) as error:
        return str(error)
    return "built"


class Harmful:
    def __reduce__(self) -> Any:
        return (os.mkdir, (str(FOLDER / "executed"),))


def trained(model: Any) -> dict[str, bool]:
    """Which parts one step changes: the first layer, the head, the first moving statistics."""
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    optimizer = models.optimizer("sgd", model.parameters(), 0.1)
    model.train()
    pixels = torch.randint(0, 255, (4, 3, 32, 32))
    nn.functional.cross_entropy(model(pixels), torch.tensor([0, 1, 2, 3])).backward()
    optimizer.step()
    changed = {n for n, tensor in model.state_dict().items() if not torch.equal(tensor, before[n])}
    return {
        part: any(name.endswith(part) and not name.startswith("0.") for name in changed)
        for part in ("conv1.weight", "bn1.weight", "running_mean", "3.weight")
    }


def one_picture() -> list[bool]:
    """Whether a batch of one is as that picture twice, in training and for who only asks."""
    body = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten()
    model = freezing.Network(*body, nn.Identity(), nn.Linear(4, 2))
    pixels = torch.rand(1, 3, 3, 3)
    with torch.no_grad():
        twice, once = model(torch.cat([pixels, pixels])), model(pixels)
        asked = model.eval()(pixels)
        exact = model(torch.cat([pixels, pixels]))
    return [torch.equal(once, twice[:1]), torch.allclose(asked, exact[:1])]


torch.manual_seed(1)
own = built()
torch.manual_seed(2)
plain = saved("plain.pt", own.state_dict())
of_ddp = saved("ddp.pt", {"state_dict": {f"module.{n}": t for n, t in own.state_dict().items()}})
exported = export(own, (32, 32, 3), str(FOLDER))
of_export = saved("of-export.pt", torch.jit.load(exported).state_dict())
published = SmallResNet()
of_torchvision = saved("resnet50.pth", published.state_dict())
pixels = torch.randint(0, 255, (2, 3, 32, 32))
mean, deviation = (torch.tensor(v).reshape(3, 1, 1) for v in (models.MEAN, models.DEVIATION))
tuned = built(of_torchvision, "resnet50", 1000).eval()
again = built(saved("again.pt", tuned.state_dict()), "resnet50", 1000).eval()
grey = built(of_torchvision, "resnet50", channels=1)
traced = torch.jit.load(export(again, (32, 32, 3), str(FOLDER)))
(FOLDER / "cut.pt").write_bytes(plain.read_bytes()[:3000])
(FOLDER / "page.pt").write_bytes(b"<html>404</html>")
# A mark, and no beginning of what it would end: no error of PyTorch's own.
(FOLDER / "broken.pt").write_bytes(b"\x80\x02u.")
harmful = saved("harmful.pt", {"weights": torch.ones(1), "more": Harmful()})
frozen = built(of_torchvision, "resnet50", freeze="body", dropout=0.5)
first = built(of_torchvision, "resnet50", freeze=1)

with torch.no_grad():
    expected = published.eval()((pixels / 255.0 - mean) / deviation)
    found = {
        "all of them": [equal(built(one), own) for one in (plain, of_ddp, of_export)],
        "other classes": [equal(built(plain, classes=7), own, until=n) for n in (-1, None)],
        "as torchvision's": torch.allclose(tuned(pixels), expected, atol=1e-5),
        "again": torch.allclose(again(pixels), expected, atol=1e-5),
        "exported": torch.allclose(traced(pixels), expected.softmax(dim=1), atol=1e-5),
        "grey": list(grey(torch.zeros(2, 1, 32, 32)).shape),
    }
found["chosen"] = [sorted(one.chosen) for one in (own, tuned, frozen)]
found["body frozen"] = trained(frozen)
found["one frozen"] = trained(first)
found["one picture"] = one_picture()
found["dropout in training"] = [m.training for m in frozen.modules() if isinstance(m, nn.Dropout)]
found["moving"] = [len(freezing.moving(one)) for one in (tuned, first, frozen)]
found["refused"] = {
    "absent": refused(weights=FOLDER / "absent.pt"),
    "cut": refused(weights=FOLDER / "cut.pt"),
    "page": refused(weights=FOLDER / "page.pt"),
    "broken": refused(weights=FOLDER / "broken.pt"),
    "program": refused(weights=exported),
    "harmful": refused(weights=harmful),
    "nameless": refused(weights=saved("nameless.pt", [torch.ones(1)])),
    "remote": refused(weights="gs://bucket/weights.pt"),
    "download": refused(weights="imagenet", model="resnet50"),
    "another model": refused(weights=plain, model="mlp"),
    "other images": refused(weights=plain, channels=1),
    "too many": refused(weights=of_torchvision, model="resnet50", freeze=3),
}
found["executed"] = (FOLDER / "executed").exists()
print(json.dumps(found))
