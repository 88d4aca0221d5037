from . import amplify as amplify, cat_rs as cat_rs, consistency as consistency, gaussian as gaussian, macer as macer, smoothadv as smoothadv, smoothmix as smoothmix, stability as stability
from .base import Aside as Aside, Loss as Loss, Method as Method, Probe as Probe, Schedule as Schedule, Teacher as Teacher, create as create, get as get, names as names, register as register
