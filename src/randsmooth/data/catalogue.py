"""The facts of the data sets that have a name here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.extras import needs

TEST_EVERY = 5


def read_digits(split: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels (N, 1, 8, 8) and labels (N,) of one split, as `DatasetSpec.read` asks for them.

    scikit-learn has no split of its own. Ours is fixed: within each class, in the order of the file, the
    first of every five images is test (35 to 37 a class), the others train.

    Raises:
        InputError: scikit-learn is not installed.
    """
    with needs("the data set digits"):
        from sklearn.datasets import load_digits

    bunch = load_digits()
    images, labels = np.asarray(bunch.images), np.asarray(bunch.target)
    kept = np.flatnonzero(_in_test(labels) == (split == "test"))
    # The file's values are 0..16; 255 is no multiple of 16, so round.
    pixels = np.rint(images[kept] * 255 / 16).astype(np.uint8)
    return pixels[:, None], labels[kept].astype(np.int64)


def _in_test(labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which images are test: (N,)."""
    chosen = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        chosen[np.flatnonzero(labels == label)[::TEST_EVERY]] = True
    return chosen


TEN_DIGITS = tuple("0123456789")

CLOTHES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

_CIFAR100_NAMES = """
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can
    castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin
    elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard
    lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear
    pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal
    shark shrew skunk skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank
    telephone television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""
CIFAR100_CLASSES = tuple(_CIFAR100_NAMES.split())

DIGITS = DatasetSpec(
    name="digits",
    shape=(1, 8, 8),
    classes=TEN_DIGITS,
    mean=None,
    std=None,
    augment="none",
    arch="small-cnn",
    hub=None,
    sizes={"train": 1433, "test": 364},
    description="Handwritten digits, 8x8 grey, embedded in scikit-learn: needs no download",
    read=read_digits,
)

MNIST = DatasetSpec(
    name="mnist",
    shape=(1, 28, 28),
    classes=TEN_DIGITS,
    mean=None,
    std=None,
    augment="none",
    arch="lenet",
    hub="ylecun/mnist",
    hub_config="mnist",
    sizes={"train": 60_000, "test": 10_000},
    description="Handwritten digits, 28x28 grey",
)

FASHION_MNIST = replace(
    MNIST,
    name="fashion-mnist",
    classes=CLOTHES,
    hub="zalando-datasets/fashion_mnist",
    hub_config="fashion_mnist",
    description="Articles of clothing, 28x28 grey",
)

# The mean and std of Cohen et al. (2019), `datasets.py`: every published CIFAR-10 certificate uses them.
CIFAR10 = DatasetSpec(
    name="cifar10",
    shape=(3, 32, 32),
    classes=CIFAR10_CLASSES,
    mean=(0.4914, 0.4822, 0.4465),
    std=(0.2023, 0.1994, 0.2010),
    augment="crop-flip",
    arch="resnet110",
    hub="uoft-cs/cifar10",
    hub_config="plain_text",
    sizes={"train": 50_000, "test": 10_000},
    description="Animals and vehicles in 10 classes, 32x32 RGB",
)

CIFAR10_JPEG = replace(
    CIFAR10,
    name="cifar10-jpeg",
    hub=None,
    hub_config=None,
    description="CIFAR-10 stored as JPEG, 32x32 RGB: a local folder only",
)

# The mean and std of the field's CIFAR-100 networks: `datasets.py` of alinlab/smoothing-catrs and eth-sri/acr-weakness.
CIFAR100 = replace(
    CIFAR10,
    name="cifar100",
    classes=CIFAR100_CLASSES,
    mean=(0.5071, 0.4867, 0.4408),
    std=(0.2675, 0.2565, 0.2761),
    hub="uoft-cs/cifar100",
    hub_config="cifar100",
    description="Objects and animals in 100 fine classes, 32x32 RGB",
)

# Mean and std over the pixels of the 73,257 training images. No flip, which would mirror the digits.
SVHN = DatasetSpec(
    name="svhn",
    shape=(3, 32, 32),
    classes=TEN_DIGITS,
    mean=(0.4377, 0.4438, 0.4728),
    std=(0.1980, 0.2010, 0.1970),
    augment="crop",
    arch="resnet110",
    hub="ufldl-stanford/svhn",
    hub_config="cropped_digits",
    sizes={"train": 73_257, "test": 26_032},
    description="Street view house numbers, cropped digits, 32x32 RGB",
)

# The labels of the real test split are secret: the literature tests on the validation split.
IMAGENET = DatasetSpec(
    name="imagenet",
    shape=(3, 224, 224),
    classes=tuple(str(number) for number in range(1000)),
    mean=(0.485, 0.456, 0.406),
    std=(0.229, 0.224, 0.225),
    augment="random-resized-crop-flip",
    arch="resnet50",
    hub="ILSVRC/imagenet-1k",
    sizes={"train": 1_281_167, "test": 50_000},
    description="ImageNet-1k, photographs in 1000 classes, 224x224 RGB, read from disk as needed",
    resize=256,
    files={"train": ("train",), "test": ("validation", "val")},
)

# ImageNet shrunk to 32x32 (Chrabaszcz et al. 2017), on which the field pretrains, with CIFAR-10's mean and std.
IMAGENET32 = replace(
    CIFAR10,
    name="imagenet32",
    classes=IMAGENET.classes,
    hub=None,
    hub_config=None,
    sizes=IMAGENET.sizes,
    description="ImageNet-1k shrunk to 32x32 RGB: a local folder only",
)
