"""Image classifiers of Hugging Face's transformers and of timm, with what they do to images, as base classifiers."""
