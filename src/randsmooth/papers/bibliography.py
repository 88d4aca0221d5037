"""What users of randsmooth cite: the program, and the papers and data sets behind what it does."""

from __future__ import annotations

from importlib.metadata import metadata

from randsmooth import __version__
from randsmooth.papers.reference import Reference

AUTHORS = "The randsmooth developers"
YEAR = 2026  # of this version
ICML = "International Conference on Machine Learning (ICML)"
ICLR = "International Conference on Learning Representations (ICLR)"
NEURIPS = "Advances in Neural Information Processing Systems (NeurIPS)"
CVPR = "IEEE Conference on Computer Vision and Pattern Recognition (CVPR)"
SECURITY = "IEEE Symposium on Security and Privacy"
PMLR = "Proceedings of Machine Learning Research"


def _at(kind: str, key: str, authors: str, title: str, year: int, **fields: str) -> Reference:
    return Reference(key, kind, tuple(authors.split(", ")), title, year, fields)


def _talk(key: str, authors: str, title: str, year: int, booktitle: str, **fields: str) -> Reference:
    return _at("inproceedings", key, authors, title, year, booktitle=booktitle, **fields)


def _article(key: str, authors: str, title: str, year: int, journal: str, **fields: str) -> Reference:
    return _at("article", key, authors, title, year, journal=journal, **fields)


def _preprint(key: str, authors: str, title: str, year: int, eprint: str) -> Reference:
    return _at("misc", key, authors, title, year, eprint=eprint, archiveprefix="arXiv", howpublished=f"arXiv:{eprint}")


SMOOTHING = (
    _talk(
        "cohen2019certified",
        "Jeremy M. Cohen, Elan Rosenfeld, J. Zico Kolter",
        "Certified Adversarial Robustness via Randomized Smoothing",
        2019,
        ICML,
        series=PMLR,
        volume="97",
        pages="1310--1320",
    ),
    _talk(
        "li2019certified",
        "Bai Li, Changyou Chen, Wenlin Wang, Lawrence Carin",
        "Certified Adversarial Robustness with Additive Noise",
        2019,
        NEURIPS,
        volume="32",
        pages="9464--9474",
    ),
    _talk(
        "salman2019provably",
        "Hadi Salman, Jerry Li, Ilya Razenshteyn, Pengchuan Zhang, Huan Zhang, Sébastien Bubeck, Greg Yang",
        "Provably Robust Deep Learning via Adversarially Trained Smoothed Classifiers",
        2019,
        NEURIPS,
        volume="32",
        pages="11289--11300",
    ),
    _talk(
        "zhai2020macer",
        "Runtian Zhai, Chen Dan, Di He, Huan Zhang, Boqing Gong, Pradeep Ravikumar, Cho-Jui Hsieh, Liwei Wang",
        "MACER: Attack-free and Scalable Robust Training via Maximizing Certified Radius",
        2020,
        ICLR,
        url="https://openreview.net/forum?id=rJx1Na4Fwr",
    ),
    _talk(
        "jeong2020consistency",
        "Jongheon Jeong, Jinwoo Shin",
        "Consistency Regularization for Certified Robustness of Smoothed Classifiers",
        2020,
        NEURIPS,
        volume="33",
        pages="10558--10570",
    ),
    _talk(
        "jeong2021smoothmix",
        "Jongheon Jeong, Sejun Park, Minkyu Kim, Heung-Chang Lee, Do-Guk Kim, Jinwoo Shin",
        "SmoothMix: Training Confidence-calibrated Smoothed Classifiers for Certified Robustness",
        2021,
        NEURIPS,
        volume="34",
        pages="30153--30168",
    ),
    _talk(
        "jeong2023catrs",
        "Jongheon Jeong, Seojin Kim, Jinwoo Shin",
        "Confidence-aware Training of Smoothed Classifiers for Certified Robustness",
        2023,
        "AAAI Conference on Artificial Intelligence",
        volume="37",
        pages="8005--8013",
    ),
    _talk(
        "sun2025acr",
        "Chenhao Sun, Yuhao Mao, Mark Niklas Müller, Martin Vechev",
        "Average Certified Radius is a Poor Metric for Randomized Smoothing",
        2025,
        ICML,
        eprint="2410.06895",
        archiveprefix="arXiv",
    ),
    _talk(
        "salman2020denoised",
        "Hadi Salman, Mingjie Sun, Greg Yang, Ashish Kapoor, J. Zico Kolter",
        "Denoised Smoothing: A Provable Defense for Pretrained Classifiers",
        2020,
        NEURIPS,
        volume="33",
        pages="21945--21957",
    ),
    _talk(
        "carlini2023free",
        "Nicholas Carlini, Florian Tramèr, Krishnamurthy Dvijotham, Leslie Rice, Mingjie Sun, J. Zico Kolter",
        "(Certified!!) Adversarial Robustness for Free!",
        2023,
        ICLR,
        eprint="2206.10550",
        archiveprefix="arXiv",
    ),
    _talk(
        "horvath2022boosting",
        "Miklós Z. Horváth, Mark Niklas Müller, Marc Fischer, Martin Vechev",
        "Boosting Randomized Smoothing with Variance Reduced Classifiers",
        2022,
        ICLR,
    ),
    _talk(
        "voracek2023sound",
        "Václav Voráček, Matthias Hein",
        "Sound Randomized Smoothing in Floating-Point Arithmetic",
        2023,
        ICLR,
        url="https://openreview.net/forum?id=HaHCoGcpV9",
    ),
    _talk(
        "voracek2024treatment",
        "Václav Voráček",
        "Treatment of Statistical Estimation Problems in Randomized Smoothing for Adversarial Robustness",
        2024,
        NEURIPS,
        volume="37",
        pages="133464--133486",
    ),
    _talk(
        "jia2020topk",
        "Jinyuan Jia, Xiaoyu Cao, Binghui Wang, Neil Zhenqiang Gong",
        "Certified Robustness for Top-k Predictions against Adversarial Perturbations via Randomized Smoothing",
        2020,
        ICLR,
    ),
    _talk(
        "rony2019decoupling",
        "Jérôme Rony, Luiz G. Hafemann, Luiz S. Oliveira, Ismail Ben Ayed, Robert Sabourin, Eric Granger",
        "Decoupling Direction and Norm for Efficient Gradient-Based L2 Adversarial Attacks and Defenses",
        2019,
        CVPR,
    ),
    _talk(
        "chen2020hopskipjump",
        "Jianbo Chen, Michael I. Jordan, Martin J. Wainwright",
        "HopSkipJumpAttack: A Query-Efficient Decision-Based Attack",
        2020,
        SECURITY,
    ),
)

STATISTICS = (
    _article(
        "clopper1934use",
        "C. J. Clopper, E. S. Pearson",
        "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
        1934,
        "Biometrika",
        volume="26",
        number="4",
        pages="404--413",
        doi="10.1093/biomet/26.4.404",
    ),
    _article(
        "lan1983discrete",
        "K. K. Gordon Lan, David L. DeMets",
        "Discrete Sequential Boundaries for Clinical Trials",
        1983,
        "Biometrika",
        volume="70",
        number="3",
        pages="659--663",
        doi="10.1093/biomet/70.3.659",
    ),
    _article(
        "armitage1969repeated",
        "P. Armitage, C. K. McPherson, B. C. Rowe",
        "Repeated Significance Tests on Accumulating Data",
        1969,
        "Journal of the Royal Statistical Society, Series A",
        volume="132",
        number="2",
        pages="235--244",
    ),
    _article(
        "buonaccorsi1987note",
        "John P. Buonaccorsi",
        "A Note on Confidence Intervals for Proportions in Finite Populations",
        1987,
        "The American Statistician",
        volume="41",
        number="3",
        pages="215--218",
    ),
    _talk(
        "maurer2009empirical",
        "Andreas Maurer, Massimiliano Pontil",
        "Empirical Bernstein Bounds and Sample Variance Penalization",
        2009,
        "Conference on Learning Theory (COLT)",
        eprint="0907.3740",
        archiveprefix="arXiv",
    ),
    _talk(
        "salmon2011parallel",
        "John K. Salmon, Mark A. Moraes, Ron O. Dror, David E. Shaw",
        "Parallel Random Numbers: As Easy as 1, 2, 3",
        2011,
        "International Conference for High Performance Computing, Networking, Storage and Analysis (SC)",
        doi="10.1145/2063384.2063405",
    ),
)

NETWORKS = (
    _article(
        "lecun1998gradient",
        "Yann LeCun, Léon Bottou, Yoshua Bengio, Patrick Haffner",
        "Gradient-Based Learning Applied to Document Recognition",
        1998,
        "Proceedings of the IEEE",
        volume="86",
        number="11",
        pages="2278--2324",
        doi="10.1109/5.726791",
    ),
    _talk(
        "he2016deep",
        "Kaiming He, Xiangyu Zhang, Shaoqing Ren, Jian Sun",
        "Deep Residual Learning for Image Recognition",
        2016,
        CVPR,
        pages="770--778",
    ),
    _talk(
        "zagoruyko2016wide",
        "Sergey Zagoruyko, Nikos Komodakis",
        "Wide Residual Networks",
        2016,
        "British Machine Vision Conference (BMVC)",
    ),
    _talk(
        "huang2017densely",
        "Gao Huang, Zhuang Liu, Laurens van der Maaten, Kilian Q. Weinberger",
        "Densely Connected Convolutional Networks",
        2017,
        CVPR,
    ),
    _article(
        "zhang2017beyond",
        "Kai Zhang, Wangmeng Zuo, Yunjin Chen, Deyu Meng, Lei Zhang",
        "Beyond a Gaussian Denoiser: Residual Learning of Deep CNN for Image Denoising",
        2017,
        "IEEE Transactions on Image Processing",
        volume="26",
        number="7",
        pages="3142--3155",
        doi="10.1109/TIP.2017.2662206",
    ),
)

DATA = (
    _at(
        "techreport",
        "krizhevsky2009learning",
        "Alex Krizhevsky",
        "Learning Multiple Layers of Features from Tiny Images",
        2009,
        institution="University of Toronto",
    ),
    _talk(
        "netzer2011reading",
        "Yuval Netzer, Tao Wang, Adam Coates, Alessandro Bissacco, Bo Wu, Andrew Y. Ng",
        "Reading Digits in Natural Images with Unsupervised Feature Learning",
        2011,
        "NIPS Workshop on Deep Learning and Unsupervised Feature Learning",
    ),
    _preprint(
        "xiao2017fashion",
        "Han Xiao, Kashif Rasul, Roland Vollgraf",
        "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
        2017,
        "1708.07747",
    ),
    _article(
        "russakovsky2015imagenet",
        "Olga Russakovsky, Jia Deng, Hao Su, Jonathan Krause, Sanjeev Satheesh, Sean Ma, Zhiheng Huang, "
        "Andrej Karpathy, Aditya Khosla, Michael Bernstein, Alexander C. Berg, Li Fei-Fei",
        "ImageNet Large Scale Visual Recognition Challenge",
        2015,
        "International Journal of Computer Vision",
        volume="115",
        number="3",
        pages="211--252",
        doi="10.1007/s11263-015-0816-y",
    ),
    _preprint(
        "chrabaszcz2017downsampled",
        "Patryk Chrabaszcz, Ilya Loshchilov, Frank Hutter",
        "A Downsampled Variant of ImageNet as an Alternative to the CIFAR datasets",
        2017,
        "1707.08819",
    ),
    _at(
        "misc",
        "alpaydin1998optical",
        "Ethem Alpaydin, Cenk Kaynak",
        "Optical Recognition of Handwritten Digits",
        1998,
        howpublished="UCI Machine Learning Repository",
        doi="10.24432/C50P49",
    ),
)

PAPERS = {one.key: one for one in (*SMOOTHING, *STATISTICS, *NETWORKS, *DATA)}


def the_program() -> Reference:
    """The entry of this version of randsmooth.

    Example:
        >>> the_program().key
        'randsmooth'
    """
    return _at(
        "software",
        "randsmooth",
        f"{{{AUTHORS}}}",
        "randsmooth: train, certify and fairly compare classifiers with randomized smoothing",
        YEAR,
        version=__version__,
        **{"url": home} if (home := _home()) else {},
    )


def _home() -> str:
    """Where the repository is, as the installed package says."""
    urls = (line.split(", ", 1) for line in metadata("randsmooth").get_all("Project-URL") or [])
    return next((url for label, url in urls if label == "Repository"), "")
