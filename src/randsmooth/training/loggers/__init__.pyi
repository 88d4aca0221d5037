from .choose import LOGGERS as LOGGERS
from .choose import check_loggers as check_loggers
from .choose import open_loggers as open_loggers
from .group import LoggerGroup as LoggerGroup
from .logged_run import LoggedRun as LoggedRun
