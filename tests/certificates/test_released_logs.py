"""The released repositories of logs: every path is placed as a reader of it would, every file at hand is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from randsmooth.certificates import PathFacts, from_radii, in_repository, infer, path_facts, read_folder, unplaced
from randsmooth.noise import Gaussian

SALMAN = "Hadisalman+smoothing-adversarial/data/certify"
CATRS = "alinlab+smoothing-catrs/data"
CONSISTENCY = "jh-jeong+smoothing-consistency/data/certify"
SMOOTHMIX = "jh-jeong+smoothmix/data/certify"
ACR = "eth-sri+acr-weakness"
COHEN = "locuslab+smoothing/data/certify"
FINETUNED = "cifar10/finetune_cifar_from_imagenetPGD2steps"
EPS = {64: 0.25, 127: 127 / 256, 255: 255 / 256, 256: 1.0, 512: 2.0, 1024: 4.0, 2048: 8.0}


def pgd(attack: str, steps: int, noises: int, eps: int, **more: Any) -> dict[str, Any]:
    return {"attack": attack, "T": steps, "m": noises, "eps": EPS[eps], **more}


PRETRAINED = {"pretrained": "imagenetPGD2steps"}
MACER = {"m": 16, "gamma": 8.0, "beta": 16.0}
ATTACKED = {"eps": EPS[255], "T": 10, "warmup": 10, "m": 4, "eta": 0.5}

# Read off each path by eye: data set, split, sigma of certification and of training, method, settings, run.
PLACED: dict[str, tuple[str, str, float, float, str, dict[str, Any], str]] = {
    f"{SALMAN}/imagenet/replication/resnet50/noise_0.25/test/sigma_0.25": (
        *("imagenet", "test", 0.25, 0.25, "gaussian", {}, ""),
    ),
    f"{SALMAN}/imagenet/DDN_2steps/eps_512/resnet50/noise_1.00/test/sigma_1.00": (
        *("imagenet", "test", 1.0, 1.0, "smoothadv", pgd("ddn", 2, 1, 512), ""),
    ),
    f"{SALMAN}/imagenet/PGD_1step/imagenet/eps_2048/resnet50/noise_0.12/test/sigma_0.12": (
        *("imagenet", "test", 0.12, 0.12, "smoothadv", pgd("pgd", 1, 1, 2048), ""),
    ),
    f"{SALMAN}/best_models/imagenet/DDN_2steps/eps_1024/resnet50/noise_0.50/test/sigma_0.50": (
        *("imagenet", "test", 0.5, 0.5, "smoothadv", pgd("ddn", 2, 1, 1024), ""),
    ),
    f"{SALMAN}/best_models/imagenet/PGD_1step/eps_127/resnet50/noise_0.50/test/sigma_0.50": (
        *("imagenet", "test", 0.5, 0.5, "smoothadv", pgd("pgd", 1, 1, 127), ""),
    ),
    f"{SALMAN}/best_models/imagenet/replication/resnet50/noise_1.00/test/sigma_1.00": (
        *("imagenet", "test", 1.0, 1.0, "gaussian", {}, ""),
    ),
    f"{SALMAN}/best_models/cifar10/cohen/resnet110/noise_0.12/test/sigma_0.12": (
        *("cifar10", "test", 0.12, 0.12, "gaussian", {}, ""),
    ),
    f"{SALMAN}/best_models/cifar10/ours/cifar10/PGD_10steps_multiNoiseSamples/2-multitrain/eps_512/cifar10/resnet110/"
    "noise_1.00/test/sigma_1.00": ("cifar10", "test", 1.0, 1.0, "smoothadv", pgd("pgd", 10, 2, 512), ""),
    f"{SALMAN}/best_models/cifar10/ours/cifar10/DDN_4steps_multiNoiseSamples/4-multitrain/eps_255/cifar10/resnet110/"
    "noise_0.12/test/sigma_0.12": ("cifar10", "test", 0.12, 0.12, "smoothadv", pgd("ddn", 4, 4, 255), ""),
    f"{SALMAN}/best_models/cifar10/ours/cifar10/PGD_4steps/eps_512/cifar10/resnet110/noise_0.50/test/sigma_0.50": (
        *("cifar10", "test", 0.5, 0.5, "smoothadv", pgd("pgd", 4, 1, 512), ""),
    ),
    f"{SALMAN}/best_models/cifar10/ours_selftraining/cifar10/self_training/PGD_4steps/weight_1.0/eps_127/cifar10/"
    "resnet110/noise_0.25/test/sigma_0.25": (
        *("cifar10", "test", 0.25, 0.25, "smoothadv"),
        *(pgd("pgd", 4, 1, 127, more="self-training", weight=1.0), ""),
    ),
    f"{SALMAN}/best_models/cifar10/ours_pretraining/{FINETUNED}/PGD_4steps_30epochs/eps_127/cifar10/resnet110/noise_0.25/"
    "test/sigma_0.25": (
        *("cifar10", "test", 0.25, 0.25, "smoothadv", pgd("pgd", 4, 1, 127, epochs=30, **PRETRAINED), ""),
    ),
    f"{SALMAN}/best_models/cifar10/ours_pretraining/{FINETUNED}/PGD_2steps_30epochs_multinoise/2-multitrain/eps_255/"
    "cifar10/resnet110/noise_0.25/test/sigma_0.25": (
        *("cifar10", "test", 0.25, 0.25, "smoothadv", pgd("pgd", 2, 2, 255, epochs=30, **PRETRAINED), ""),
    ),
    f"{SALMAN}/best_models/cifar10/ours_pretraining_selftraining/{FINETUNED}/self_training_PGD_2steps/weight_0.5/eps_64/"
    "cifar10/resnet110/noise_0.25/test/sigma_0.25": (
        *("cifar10", "test", 0.25, 0.25, "smoothadv"),
        *(pgd("pgd", 2, 1, 64, more="self-training", weight=0.5, **PRETRAINED), ""),
    ),
    f"{SALMAN}/cifar10/PGD_2steps_multiNoiseSamples/8-multitrain/eps_127/cifar10/resnet110/noise_1.00/test/"
    "sigma_1.00": (*("cifar10", "test", 1.0, 1.0, "smoothadv", pgd("pgd", 2, 8, 127), ""),),
    f"{SALMAN}/cifar10/DDN_4steps_multiNoiseSamples/16-multitrain/eps_512/cifar10/resnet110/noise_0.25/test/"
    "sigma_0.25": (*("cifar10", "test", 0.25, 0.25, "smoothadv", pgd("ddn", 4, 16, 512), ""),),
    f"{SALMAN}/cifar10/PGD_4steps/eps_255/cifar10/resnet110/noise_0.12/test/sigma_0.12": (
        *("cifar10", "test", 0.12, 0.12, "smoothadv", pgd("pgd", 4, 1, 255), ""),
    ),
    f"{SALMAN}/cifar10/DDN_6steps/eps_127/cifar10/resnet110/noise_1.00/test/sigma_1.00": (
        *("cifar10", "test", 1.0, 1.0, "smoothadv", pgd("ddn", 6, 1, 127), ""),
    ),
    f"{SALMAN}/cifar10/PGD_2steps_baseAttackExp/with_noise/eps_255/cifar10/resnet110/noise_0.12/test/sigma_0.12": (
        *("cifar10", "test", 0.12, 0.12, "smoothadv", pgd("pgd", 2, 1, 255, attacked="with noise"), ""),
    ),
    f"{SALMAN}/cifar10/PGD_2steps_baseAttackExp/without_noise/eps_512/cifar10/resnet110/noise_0.00/test/sigma_0.12": (
        *("cifar10", "test", 0.12, 0.0, "smoothadv", pgd("pgd", 2, 1, 512, attacked="without noise"), ""),
    ),
    f"{SALMAN}/cifar10/self_training/PGD_10steps/weight_0.1/eps_64/cifar10/resnet110/noise_0.25/test/sigma_0.25": (
        *("cifar10", "test", 0.25, 0.25, "smoothadv"),
        *(pgd("pgd", 10, 1, 64, more="self-training", weight=0.1), ""),
    ),
    f"{SALMAN}/{FINETUNED}/DDN_4steps_30epochs/eps_64/cifar10/resnet110/noise_0.12/test/sigma_0.12": (
        *("cifar10", "test", 0.12, 0.12, "smoothadv", pgd("ddn", 4, 1, 64, epochs=30, **PRETRAINED), ""),
    ),
    f"{SALMAN}/{FINETUNED}/self_training_PGD_6steps/weight_1.0/eps_512/cifar10/resnet110/noise_1.00/test/sigma_1.00": (
        *("cifar10", "test", 1.0, 1.0, "smoothadv"),
        *(pgd("pgd", 6, 1, 512, more="self-training", weight=1.0, **PRETRAINED), ""),
    ),
    f"{SALMAN}/{FINETUNED}/PGD_10steps_30epochs_multinoise/4-multitrain/eps_512/cifar10/resnet110/noise_0.25/test/"
    "sigma_0.25": ("cifar10", "test", 0.25, 0.25, "smoothadv", pgd("pgd", 10, 4, 512, epochs=30, **PRETRAINED), ""),
    "Hadisalman+smoothing-adversarial/data_cohen/certify/imagenet/resnet50/noise_1.00/test/sigma_0.50": (
        *("imagenet", "test", 0.5, 1.0, "gaussian", {}, ""),
    ),
    "Hadisalman+smoothing-adversarial/data_cohen/certify/cifar10/resnet110/noise_0.12/test/sigma_0.50": (
        *("cifar10", "test", 0.5, 0.12, "gaussian", {}, ""),
    ),
    "Hadisalman+smoothing-adversarial/data_cohen/certify/imagenet/resnet50/noise_0.50/train/sigma_0.50": (
        *("imagenet", "train", 0.5, 0.5, "gaussian", {}, ""),
    ),
    f"{CATRS}/cifar10c/cat_rs/gaussian_noise.tsv": ("cifar10c", "gaussian_noise", 0.25, 0.25, "cat-rs", {}, ""),
    f"{CATRS}/cifar10c/severity_2/cat_rs/snow.tsv": ("cifar10c", "snow, severity 2", 0.25, 0.25, "cat-rs", {}, ""),
    f"{CATRS}/cifar10c/severity_2/stab/frost.tsv": ("cifar10c", "frost, severity 2", 0.25, 0.25, "stability", {}, ""),
    f"{CATRS}/cifar10c/severity_5/macer/jpeg_compression.tsv": (
        *("cifar10c", "jpeg_compression, severity 5", 0.25, 0.25, "macer", {}, ""),
    ),
    f"{CATRS}/cifar10c/severity_1/cohen/gaussian_noise.tsv": (
        *("cifar10c", "gaussian_noise, severity 1", 0.25, 0.25, "gaussian", {}, ""),
    ),
    f"{CATRS}/cifar10c/salman/frost.tsv": ("cifar10c", "frost", 0.25, 0.25, "smoothadv", {}, ""),
    f"{CATRS}/cifar10c/severity_4/smoothmix/motion_blur.tsv": (
        *("cifar10c", "motion_blur, severity 4", 0.25, 0.25, "smoothmix", {}, ""),
    ),
    f"{CATRS}/cifar10c/consistency/frost.tsv": ("cifar10c", "frost", 0.25, 0.25, "consistency", {}, ""),
    f"{CATRS}/cifar10/noise_0.5/stab/noise_0.5.tsv": ("cifar10", "", 0.5, 0.5, "stability", {}, ""),
    f"{CATRS}/cifar10/noise_1.0/consistency/noise_1.0.tsv": ("cifar10", "", 1.0, 1.0, "consistency", {}, ""),
    f"{CATRS}/cifar100/noise_0.25/macer/noise_0.25.tsv": ("cifar100", "", 0.25, 0.25, "macer", {}, ""),
    f"{CATRS}/cifar100/noise_0.5/cohen/noise_0.5.tsv": ("cifar100", "", 0.5, 0.5, "gaussian", {}, ""),
    f"{CATRS}/fmnist/noise_0.25/salman/noist_0.25.tsv": ("fashion-mnist", "", 0.25, 0.25, "smoothadv", {}, ""),
    f"{CATRS}/fmnist/noise_0.5/cat-rs/noise_0.5.tsv": ("fashion-mnist", "", 0.5, 0.5, "cat-rs", {}, ""),
    f"{CATRS}/mnist/noise_0.25/noise_0.25.tsv": ("mnist", "", 0.25, 0.25, "cat-rs", {}, ""),
    f"{CATRS}/imagenet/noise_1.0.tsv": ("imagenet", "", 1.0, 1.0, "cat-rs", {}, ""),
    f"{CATRS}/mnistc/cat-rs/canny_edges.tsv": ("mnistc", "canny_edges", 0.25, 0.25, "cat-rs", {}, ""),
    f"{CATRS}/mnistc/cat-rs/identity.tsv": ("mnistc", "identity", 0.25, 0.25, "cat-rs", {}, ""),
    f"{ACR}/test/certify/cifar10/0.25_3_pgd_radius_l2/ds_60_0.5/num_4/dataset_weight_10/1/noise_0.25.tsv": (
        *("cifar10", "", 0.25, 0.25, "amplify"),
        *({"eps": 0.25, "T": 3, "norm": "l2", "E_t": 60, "p_t": 0.5, "m": 4, "reweight_every": 10}, "1"),
    ),
    f"{ACR}/test/certify/imagenet/1.0_2_pgd_radius_l2/ds_0_0.2/num_1/1/noise_0.5.tsv": (
        *("imagenet", "", 0.5, 0.5, "amplify", {"eps": 1.0, "T": 2, "norm": "l2", "E_t": 0, "p_t": 0.2, "m": 1}, "1"),
    ),
    f"{ACR}/data/certify/cifar10/macer/noise_0.25.tsv": ("cifar10", "", 0.25, 0.25, "macer", {}, ""),
    f"{ACR}/data/certify/cifar10/ours/noise_0.5.tsv": ("cifar10", "", 0.5, 0.5, "amplify", {}, ""),
    f"{ACR}/data/certify/imagenet/catrs/noise_1.0.tsv": ("imagenet", "", 1.0, 1.0, "cat-rs", {}, ""),
    f"{ACR}/data/certify/imagenet/gaussian/noise_0.25": ("imagenet", "", 0.25, 0.25, "gaussian", {}, ""),
    f"{CONSISTENCY}/imagenet/consistency/cohen/num_2/lbd_5.0/eta_0.1/noise_1.00": (
        *("imagenet", "", 1.0, 1.0, "consistency", {"m": 2, "lbd": 5.0, "eta": 0.1}, ""),
    ),
    f"{CONSISTENCY}/cifar10/consistency/cohen/num_2/lbd_5.0/eta_0.5/cifar_densenet40/noise_0.50": (
        *("cifar10", "", 0.5, 0.5, "consistency", {"m": 2, "lbd": 5.0, "eta": 0.5}, ""),
    ),
    f"{CONSISTENCY}/mnist/stab/lbd_2/noise_0.25_4654": ("mnist", "", 0.25, 0.25, "stability", {"lbd": 2}, "4654"),
    f"{CONSISTENCY}/mnist/consistency/salman_255.0_10_10/num_4/lbd_1.0/eta_0.5/noise_0.50_5": (
        *("mnist", "", 0.5, 0.5, "smoothadv+consistency", ATTACKED | {"lbd": 1.0}, "5"),
    ),
    f"{CONSISTENCY}/mnist/cohen/noise_0.25_3870": ("mnist", "", 0.25, 0.25, "gaussian", {}, "3870"),
    f"{CONSISTENCY}/mnist/salman/pgd_255.0_10_10/num_4/noise_1.00_1316": (
        *("mnist", "", 1.0, 1.0, "smoothadv", {"eps": EPS[255], "T": 10, "warmup": 10, "m": 4}, "1316"),
    ),
    f"{CONSISTENCY}/mnist/macer_deferred30/num_16/lbd_6.0/gamma_8.0/beta_16.0/noise_1.00_508": (
        *("mnist", "", 1.0, 1.0, "macer", MACER | {"lbd_from": 31, "lbd": 6.0}, "508"),
    ),
    f"{CONSISTENCY}/cifar10/macer/num_16/lbd_4.0/gamma_8.0/beta_16.0/cifar_resnet20/noise_0.50_6947": (
        *("cifar10", "", 0.5, 0.5, "macer", MACER | {"lbd": 4.0}, "6947"),
    ),
    f"{SMOOTHMIX}/cifar10/salman/pgd_512.0_10_10/num_2/cifar_densenet40/noise_0.50_1149_o": (
        *("cifar10", "", 0.5, 0.5, "smoothadv", {"eps": 2.0, "T": 10, "warmup": 10, "m": 2}, "1149_o"),
    ),
    f"{SMOOTHMIX}/cifar10/consistency/salman_255.0_10_10/num_4/lbd_2.0/eta_0.5/cifar_resnet110/noise_0.25": (
        *("cifar10", "", 0.25, 0.25, "smoothadv+consistency", ATTACKED | {"lbd": 2.0}, ""),
    ),
    f"{SMOOTHMIX}/cifar10/smoothmix/noise_0.25": ("cifar10", "", 0.25, 0.25, "smoothmix", {}, ""),
    f"{SMOOTHMIX}/cifar10/smoothmix/noise_0.5_adv": ("cifar10", "", 0.5, 0.5, "smoothmix", {}, ""),
    f"{SMOOTHMIX}/mnist/smoothmix/smix_1.0_8_m0/tau_5.0/num_4/22/noise_1.0": (
        *("mnist", "", 1.0, 1.0, "smoothmix", {"alpha": 1.0, "T": 8, "start": 0.0, "eta": 5.0, "m": 4}, "22"),
    ),
    f"{SMOOTHMIX}/mnist/smoothmix/smix_1.0_4_m1/tau_1.0/num_4/23/noise_0.5": (
        *("mnist", "", 0.5, 0.5, "smoothmix", {"alpha": 1.0, "T": 4, "start": 1.0, "eta": 1.0, "m": 4}, "23"),
    ),
    f"{SMOOTHMIX}/mnist/cohen/noise_0.50_393": ("mnist", "", 0.5, 0.5, "gaussian", {}, "393"),
    f"{SMOOTHMIX}/ablation/restriction/smix_1.0_8_m0_max8.0/tau_1.0/num_4/12/noise_1.0": (
        *("mnist", "", 1.0, 1.0, "smoothmix"),
        *({"alpha": 1.0, "T": 8, "start": 0.0, "max_norm": 8.0, "eta": 1.0, "m": 4}, "12"),
    ),
    f"{SMOOTHMIX}/ablation/alphat/smix_2.0_4_m0/tau_1.0/num_4/10/noise_1.0": (
        *("mnist", "", 1.0, 1.0, "smoothmix", {"alpha": 2.0, "T": 4, "start": 0.0, "eta": 1.0, "m": 4}, "10"),
    ),
    f"{COHEN}/imagenet/resnet50/noise_0.50/train/sigma_0.50": ("imagenet", "train", 0.5, 0.5, "gaussian", {}, ""),
    f"{COHEN}/cifar10/resnet110/noise_0.25/test/sigma_0.50": ("cifar10", "test", 0.5, 0.25, "gaussian", {}, ""),
}


def facts(place: PathFacts) -> tuple[Any, ...]:
    return (
        *(place.dataset, place.split, place.sigma, place.training_sigma, place.method),
        *({key: pytest.approx(value) for key, value in place.settings.items()}, place.run),
    )


@pytest.mark.parametrize("path", PLACED)
def test_a_released_log_is_placed_as_its_path_reads(path: str) -> None:
    place = path_facts(Path(path))
    assert PLACED[path] == facts(place)
    assert place.repository.replace("/", "+") == path.partition("/")[0]
    assert place.n is None and place.alpha is None  # no path of these says them


def test_enough_paths_of_every_repository_are_read_by_eye() -> None:
    repositories = [path.partition("/")[0] for path in PLACED]
    assert len(PLACED) >= 60 and min(repositories.count(name) for name in set(repositories)) >= 2
    assert len(set(repositories)) == 6


def test_every_path_of_the_released_repositories_is_placed(logs: Path) -> None:
    paths = (logs / "as-released" / "PATHS.txt").read_text().split()
    assert len(paths) == 2654 and set(PLACED) <= set(paths)
    for path in paths:
        place = path_facts(Path(path))
        where = (place.repository, place.dataset, place.sigma, place.training_sigma, place.method)
        assert None not in where and "" not in where, path
        assert place.split or place.dataset not in ("cifar10c", "mnistc"), path
        words = set(place.other_parts)
        assert words <= {"adv", "alphat", "eta", "m", "restriction"}, path  # variations; all else is understood


SIGMAS = {0.12: 0.457, 0.25: 0.953, 0.5: 1.91, 1.0: 3.82}  # the largest radii that n = 100,000 gives at alpha .001


@pytest.mark.slow
def test_every_released_log_at_hand_is_read_and_placed_by_path_and_content(logs: Path) -> None:
    files = list(read_folder(logs / "as-released"))
    predictions = [file.path.name for file in files if file.predictions]
    assert len(files) == 116 and sorted(predictions) == ["N_1000", "predictions"]
    budgets = []
    for file in files:
        if file.predictions:
            continue
        (table,) = file.tables
        header, place = table.header, path_facts(file.path)
        assert not file.fault and unplaced(table) == "", file.path
        assert (header.sigma, header.dataset) == (place.sigma, place.dataset)
        assert (header.model or {})["repository"] == place.repository
        assert table.radius.max() <= 1.001 * SIGMAS[header.sigma or 0.0], file.path
        budgets.append((header.n, header.alpha))
    assert set(budgets) == {(100_000, 0.001), (None, None)} and budgets.count((None, None)) <= 10


HEAD = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"


def test_a_clone_is_known_by_where_it_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "anything"
    log = clone / "data" / "certify" / "imagenet" / "resnet50" / "noise_0.50" / "test" / "sigma_0.25"
    log.parent.mkdir(parents=True)
    log.write_text(HEAD + "0\t1\t1\t0.3\t1\t0:00:01.500000\n")
    assert in_repository(log) == log and path_facts(log).method == ""
    (clone / ".git").mkdir()
    config = clone / ".git" / "config"
    for url in (
        "https://github.com/locuslab/smoothing.git",
        "git@github.com:locuslab/smoothing",
        "HTTPS://x/locuslab/smoothing/",
    ):
        in_repository.__globals__["_clone"].cache_clear()
        config.write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n\tfetch = +refs\n')
        place = in_repository(log)
        assert place.parts[0] == "locuslab+smoothing" and path_facts(place).method == "gaussian"
    monkeypatch.chdir(log.parent)
    (file,) = read_folder(Path())
    (table,) = file.tables
    assert (table.header.dataset, table.header.sigma, unplaced(table)) == ("imagenet", 0.25, "")
    assert (table.header.model or {})["sigma"] == 0.5
    in_repository.__globals__["_clone"].cache_clear()
    config.write_text('[remote "origin"]\n\turl = https://github.com/somebody/else.git\n')
    assert in_repository(log) == log


@pytest.mark.parametrize(
    ("path", "method", "repository"),
    [
        ("smoothmix/data/certify/mnist/cohen/noise_0.25_3870", "gaussian", "jh-jeong/smoothmix"),
        ("smoothing-main/data/certify/cifar10/resnet110/noise_0.12/test/sigma_0.12", "gaussian", "locuslab/smoothing"),
        ("logs/mnist/smoothmix/noise_0.25", "smoothmix", ""),  # the method, not the repository
        ("locuslab+smoothing-master/data/x/noise_0.25", "gaussian", "locuslab/smoothing"),
    ],
)
def test_a_clone_is_known_by_its_folder(path: str, method: str, repository: str) -> None:
    place = path_facts(Path(path))
    assert (place.method, place.repository) == (method, repository)


def test_the_history_of_a_clone_is_not_searched(tmp_path: Path) -> None:
    for folder in (".git/objects", "data"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "log.tsv").write_text(HEAD + "0\t1\t1\t0.3\t1\t0:00:01.500000\n")
    assert [file.path for file in read_folder(tmp_path)] == [tmp_path / "data" / "log.tsv"]


def test_n_and_alpha_in_a_path_are_used_and_said(tmp_path: Path) -> None:
    path = tmp_path / "cifar10" / "consistency" / "noise_0.25_N10000_alpha0.01" / "log.tsv"
    path.parent.mkdir(parents=True)
    most = Gaussian(0.25).largest_radius(10_000, 0.01)
    path.write_text(HEAD + "".join(f"{i}\t1\t1\t{most:.3}\t1\t0:00:01.500000\n" for i in range(3)))
    (file,) = read_folder(tmp_path)
    (table,) = file.tables
    assert (table.header.n, table.header.alpha) == (10_000, 0.001)  # re-bound at the usual alpha
    assert "n 10,000, alpha 0.01, data set cifar10 and the method as the path says" in table.header.notes[0]
    assert "made at alpha 0.01, re-bound at 0.001" in table.header.notes[-1]


def test_what_a_user_says_of_sigma_takes_precedence() -> None:
    place, table = Path(f"{CATRS}/cifar10c/cat_rs/fog.tsv"), from_radii([0.9, 0.8, 0.1])
    assert infer(table, place, sigma=0.5).header.sigma == 0.5
    made = infer(table, place)
    assert made.header.sigma == 0.25
    assert "sigma 0.25 as all logs there of alinlab/smoothing-catrs have it" in made.header.notes[0]
